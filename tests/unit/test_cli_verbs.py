"""The commands on memories: what they do, print and answer to machines."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from support.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "memory")


@pytest.fixture
def diets(cli: CommandLine) -> CommandLine:
    """A memory of three, one of them superseded."""
    cli.ok("remember", "Alice eats no meat", "--id", "old", "--key", "diet", "--kind", "preference")
    cli.ok("remember", "Alice eats fish", "--id", "new", "--key", "diet", "--kind", "preference")
    cli.ok("remember", "The bike is red", "--id", "bike", "--tag", "bike", "--metadata", '{"city": "Paris"}')
    return cli


def test_remember_keeps_every_field(cli: CommandLine) -> None:
    fields = {
        "--kind": "fact",
        "--importance": "0.5",
        "--key": "k",
        "--author": "Bob",
        "--source": "chat",
        "--agent": "a1",
        "--thread": "t1",
        "--metadata": '{"n": 1}',
        "--occurred-at": "2026-01-02T03:04:05+01:00",
        "--expires-at": "2099-01-01",
        "--id": "m1",
    }
    options = [part for pair in fields.items() for part in pair]
    receipt = cli.json("remember", "text", *options, "--tag", "x", "--tag", "y", "--pinned")
    assert receipt == {"id": "m1", "position": "mnemolog.memories/0/0"}
    item = cli.json("get", "m1")
    expected = {
        "id": "m1",
        "namespace": ["default"],
        "text": "text",
        "kind": "fact",
        "importance": 0.5,
        "tags": ["x", "y"],
        "key": "k",
        "author": "Bob",
        "source": "chat",
        "agent_id": "a1",
        "thread_id": "t1",
        "metadata": {"n": 1},
        "pinned": True,
        "occurred_at": "2026-01-02T02:04:05+00:00",
        "expires_at": "2099-01-01T00:00:00+00:00",
        "superseded_by": None,
        "use_count": 0,
        "ignore_count": 0,
        "last_used_at": None,
    }
    assert {name: item[name] for name in expected} == expected


def test_remember_takes_its_text_from_stdin(cli: CommandLine) -> None:
    cli.ok("remember", "-", "--id", "m1", stdin="two\nlines, naïve\n")
    assert cli.json("get", "m1")["text"] == "two\nlines, naïve"


def test_a_ttl_expires_and_a_retry_is_harmless(cli: CommandLine) -> None:
    for _ in range(2):
        cli.ok("remember", "soon gone", "--ttl", "0.01", "--id", "m1")
        cli.ok("remember", "stays", "--id", "m2")
    assert [item["id"] for item in cli.lines("list")] == ["m2"]


def test_dedupe_makes_one_memory_of_the_same_text(cli: CommandLine) -> None:
    first, second = (cli.json("remember", "again", "--dedupe")["id"] for _ in range(2))
    assert first == second
    assert len(cli.lines("list")) == 1


def test_remember_can_wait_for_the_views(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--wait")
    assert (cli.home / "views" / "current.json").exists()


def test_recall_answers_best_first_with_reasons(diets: CommandLine) -> None:
    found = diets.json("recall", "does Alice eat fish?", "-k", "2")
    assert [hit["memory"]["id"] for hit in found["hits"]] == ["new", "bike"]
    assert found["query"] == "does Alice eat fish?"
    assert found["recall_id"]
    assert found["warnings"] == []
    hit = found["hits"][0]
    assert set(hit) == {"memory", "score", "factors", "origins", "explain"}
    assert hit["score"] == pytest.approx(prod(factor["value"] for factor in hit["factors"].values()))
    assert "relevance" in hit["explain"]


def test_recall_explains_itself_to_people(diets: CommandLine) -> None:
    told = diets.ok("recall", "fish", "-k", "1", "--explain").splitlines()
    assert told[0] == "new  Alice eats fish"
    assert "relevance" in told[1]


def test_recall_takes_all_its_options(diets: CommandLine) -> None:
    def ids(*options: str) -> list[str]:
        return [hit["memory"]["id"] for hit in diets.json("recall", "what is there", *options)["hits"]]

    assert set(ids("--superseded")) == {"old", "new", "bike"}
    assert ids("--kind", "note") == ["bike"]
    assert ids("--tag", "bike") == ["bike"]
    assert ids("--filter", '{"metadata.city": {"in": ["Paris", "Rome"]}}') == ["bike"]
    assert set(ids("--kind", "note", "--kind", "preference")) == {"new", "bike"}
    assert ids("--threshold", "0") == []
    assert ids("--min-score", "9") == []
    assert set(
        ids("--after", "mnemolog.memories/0/2", "--now", "2027-01-01", "--weight", "importance=0")
    ) == {
        "new",
        "bike",
    }


def test_recall_by_kind_gives_the_best_of_each(diets: CommandLine) -> None:
    found = diets.json("recall", "what is there", "--by-kind")
    assert {kind: len(one["hits"]) for kind, one in found.items()} == {"note": 1, "preference": 1}
    assert "preference:" in diets.ok("recall", "what is there", "--by-kind").splitlines()


def test_recall_of_nothing_is_no_error(diets: CommandLine) -> None:
    result = diets.run("recall", "fish", "--namespace", "nobody")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing found\n")


def test_into_a_pipe_go_lines_with_tabs_and_whole_ids(cli: CommandLine) -> None:
    long_id = "i" * 200
    cli.ok("remember", "a [bold]text[/bold]\nof two lines " + "word " * 60, "--id", long_id)
    (line,) = cli.ok("recall", "text").splitlines()
    identifier, _, kind, text = line.split("\t")
    assert (identifier, kind) == (long_id, "note")
    assert text.startswith("a [bold]text[/bold] of two lines word")
    assert text.endswith("word")


def test_control_characters_of_a_memory_stay_off_the_terminal(cli: CommandLine) -> None:
    cli.ok("remember", "red \x1b[31m alarm \x07", "--id", "m1")
    for command in (("list",), ("recall", "alarm"), ("recall", "alarm", "--explain"), ("get", "m1")):
        assert "\x1b" not in cli.ok(*command)
    assert cli.json("get", "m1")["text"] == "red \x1b[31m alarm \x07"


def test_list_pages_newest_first(cli: CommandLine) -> None:
    for day in (1, 2, 3):
        cli.ok("remember", f"day {day}", "--id", f"d{day}", "--occurred-at", f"2026-01-0{day}")
    assert [item["id"] for item in cli.lines("list")] == ["d3", "d2", "d1"]
    page = cli.run("list", "--limit", 1, "--offset", 1)
    assert page.stdout.split("\t")[0] == "d2"
    assert page.stderr == "1 of 3\n"
    assert cli.lines("list", "--filter", '{"text": {"contains": "day 2"}}')[0]["id"] == "d2"


def test_get_shows_a_superseded_one_too(diets: CommandLine) -> None:
    assert "superseded_by\tnew" in diets.ok("get", "old").splitlines()
    assert "namespace\tdefault" in diets.ok("get", "old").splitlines()


def test_update_changes_what_is_given(diets: CommandLine) -> None:
    diets.ok("update", "bike", "--text", "-", "--importance", "1", "--reason", "painted", stdin="It is blue")
    diets.ok("update", "bike", "--clear", "importance", "--clear", "tags", "--clear", "metadata", "--pinned")
    item = diets.json("get", "bike")
    assert (item["text"], item["importance"], item["tags"], item["metadata"]) == ("It is blue", None, [], {})
    assert item["pinned"]
    assert [change["reason"] for change in diets.lines("history", "bike")] == [None, "painted", None]


def test_history_tells_of_forgotten_ones(diets: CommandLine) -> None:
    diets.ok("forget", "bike", "--reason", "sold")
    changes = diets.lines("history", "bike")
    assert [change["type"] for change in changes] == ["MemoryRemembered", "MemoryForgotten"]
    assert set(changes[0]) == {"type", "occurred_at", "agent_id", "reason", "event_id", "offset"}
    assert "MemoryForgotten\t\tsold" in diets.ok("history", "bike")


def test_forget_by_ids(diets: CommandLine) -> None:
    assert diets.json("forget", "bike", "--dry-run")["forgotten"] == 1
    assert diets.json("get", "bike")["id"] == "bike"
    assert diets.ok("forget", "bike", "new") == "forgot 2 memories\n"
    assert [item["id"] for item in diets.lines("list")] == ["old"]


def test_forget_says_which_were_not_there(diets: CommandLine) -> None:
    result = diets.run("forget", "bike", "nobody", "--json")
    assert result.exit_code == 1
    assert '"unknown": ["nobody"]' in result.stdout
    assert diets.fails(1, "get", "bike").startswith("Error: no memory 'bike'")


def test_forget_by_filter(diets: CommandLine) -> None:
    wanted = ("forget", "--filter", '{"kind": "preference"}')
    assert diets.json(*wanted, "--dry-run") == {
        "forgotten": 2,
        "remaining": 0,
        "dry_run": True,
    }
    assert diets.ok(*wanted, "--yes") == "forgot 2 memories\n"
    assert [item["id"] for item in diets.lines("list", "--superseded")] == ["bike"]


def test_forget_all_stays_in_its_namespace(diets: CommandLine) -> None:
    diets.ok("remember", "elsewhere", "--namespace", "acme/bob")
    assert diets.json("forget", "--all", "--yes")["forgotten"] == 3
    assert diets.lines("list", "--superseded") == []
    assert len(diets.lines("list", "--namespace", "acme/bob")) == 1


def test_feedback_counts_once_a_recall(diets: CommandLine) -> None:
    recall_id = diets.json("recall", "fish")["recall_id"]
    for _ in range(2):
        diets.ok("feedback", "--recall", recall_id, "--used", "new", "--ignored", "bike")
    assert diets.json("get", "new")["use_count"] == 1
    assert diets.json("get", "bike")["ignore_count"] == 1


def test_stats_count(diets: CommandLine) -> None:
    found = diets.json("stats")
    assert (found["memories"], found["active"]) == (3, 2)
    assert found["kinds"] == {"note": 1, "preference": 2}
    assert found["embedder"].startswith("hashing")
    assert set(found["lag"].values()) == {0}
    assert "kind preference\t2" in diets.ok("stats").splitlines()


def test_list_takes_tags_by_mode_and_whose_they_are(diets: CommandLine) -> None:
    diets.ok(
        "remember", "a boat", "--id", "boat", "--tag", "boat", "--tag", "sea", "--agent", "a", "--thread", "t"
    )

    def ids(*options: str) -> set[str]:
        return {line["id"] for line in diets.lines("list", *options)}

    assert ids("--tag", "bike", "--tag", "sea", "--tags-mode", "any") == {"bike", "boat"}
    assert ids("--tag", "sea", "--tags-mode", "none") == {"new", "bike"}
    assert ids("--tag", "bike", "--tags-mode", "exact") == {"bike"}
    assert ids("--tags-mode", "exact") == {"new"}
    assert ids("--agent", "a") == ids("--thread", "t") == {"boat"}
    assert diets.fails(2, "list", "--tags-mode", "some").startswith("Error: tags_mode")


def test_aggregate_prints_a_group_a_line(diets: CommandLine) -> None:
    assert diets.ok("aggregate") == "2\n"
    assert diets.ok("aggregate", "--by", "kind") == "note\t1\npreference\t1\n"
    rows = diets.lines(
        "aggregate", "--by", "metadata.city", "--metric", "count", "--metric", "max:importance"
    )
    assert rows == [
        {"metadata.city": "Paris", "count": 1, "max_importance": None},
        {"metadata.city": None, "count": 1, "max_importance": None},
    ]
    assert "colour" in diets.fails(2, "aggregate", "--by", "colour")


def test_forget_takes_no_more_than_its_limit(diets: CommandLine) -> None:
    assert diets.json("forget", "--all", "--limit", "2", "--yes") == {
        "forgotten": 2,
        "remaining": 1,
        "dry_run": False,
    }
    assert "--limit" in diets.fails(2, "forget", "bike", "--limit", "2")


def test_config_is_set_shown_and_taken_back(diets: CommandLine) -> None:
    diets.ok("config", "set", "threshold=0.6", "weights.recency=1", "scoring=ongoing")
    diets.ok("config", "set", "--global", "threshold=0.9", "max_items_per_scope=50")
    config = diets.json("config", "get")
    assert (config["threshold"], config["max_items_per_scope"], config["scoring"]) == (0.6, 50, "ongoing")
    assert config["weights"]["recency"] == 1
    assert config["origins"]["max_items_per_scope"] == "global"
    diets.ok("config", "set", "threshold=null")
    assert "threshold\t0.9 (global)\n" in diets.ok("config", "get")


def test_config_refuses_what_makes_no_sense(diets: CommandLine) -> None:
    assert "threshold" in diets.fails(2, "config", "set", "threshold=7")
    assert "colour" in diets.fails(2, "config", "set", "colour=red")
    assert "NAME=VALUE" in diets.fails(2, "config", "set", "threshold")


def test_the_past_is_asked_by_time_or_position(diets: CommandLine) -> None:
    assert (
        diets.json("recall", "what does Alice eat?", "--as-of", "mnemolog.memories/0/0")["hits"][0]["memory"][
            "id"
        ]
        == "old"
    )
    assert [one["id"] for one in diets.lines("list", "--as-of", "mnemolog.memories/0/1")] == ["new"]
    assert diets.json("get", "old", "--as-of", "mnemolog.memories/0/0")["superseded_by"] is None
    assert diets.run("get", "bike", "--as-of", "mnemolog.memories/0/1").exit_code == 1
    assert diets.lines("list", "--as-of", "1999-01-01") == []
    assert diets.run("list", "--as-of", "yesterday").exit_code != 0


def test_diff_tells_what_became_of_memories(diets: CommandLine) -> None:
    diets.ok("forget", "bike")
    lines = diets.ok("diff", "mnemolog.memories/0/0").splitlines()
    assert lines == ["learned\tnew\tAlice eats fish", "changed superseded_by\told\tAlice eats no meat"]
    found = diets.json("diff", "mnemolog.memories/0/2")
    assert [one["id"] for one in found["forgotten"]] == ["bike"]
    assert found["a"]["source"] == "replay"
    assert found["b"]["source"] == "live"

"""The extractor that asks a language model, against a local server that misbehaves."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.chat_server import chat_server, completion

import mnemolog
from mnemolog import Fact
from mnemolog.extractors.llm import LLMExtractor, LLMSummarizer
from mnemolog.schemas.errors import ExtractionError, ExtractorUnavailableError, InvalidInputError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
BERLIN = {
    "subject": "Alice's home",
    "statement": "Alice lives in Berlin",
    "date": "2026-04-01",
    "sources": [2],
}


def memories(count: int = 2) -> list[Any]:
    return [
        SimpleNamespace(id=f"m{n}", text=f"text {n}", author="Al", occurred_at=NOON)
        for n in range(1, count + 1)
    ]


def extractor(url: str, **options: Any) -> LLMExtractor:
    return LLMExtractor(
        "test-model", base_url=url, api_key="key", **{"timeout": 5.0, "max_retries": 1, **options}
    )


def facts(*items: Any) -> str:
    return json.dumps({"facts": list(items)})


def test_memories_become_facts_with_sources_and_tokens() -> None:
    with chat_server(
        facts(BERLIN, {"subject": "Diet", "statement": "", "tombstone": True, "sources": [1]})
    ) as chat:
        found = extractor(chat.url)(memories())
    assert list(found.facts) == [
        Fact("Alice's home", "Alice lives in Berlin", "2026-04-01", sources=("m2",)),
        Fact("Diet", "", tombstone=True, sources=("m1",)),
    ]
    assert (found.model, found.version, found.input_tokens, found.output_tokens) == (
        "test-model-2026",
        "1",
        11,
        7,
    )
    (request,) = chat.requests
    assert request["response_format"]["json_schema"]["strict"] is True
    assert [json.loads(line)["text"] for line in request["messages"][1]["content"].splitlines()] == [
        "text 1",
        "text 2",
    ]


REPAIRED = {
    "a code fence": f"Sure! Here you go:\n```json\n{facts(BERLIN)}\n```\nAnything else?",
    "prose with braces": f"I used the set {{a, b}} of rules {{}}. So: {facts(BERLIN)} That is {{all}}.",
    "single quotes": str({"facts": [{**BERLIN, "confidence": 1}]}),
    "a trailing comma": '{"facts": [' + json.dumps(BERLIN) + ",]}",
    "a list alone": json.dumps([BERLIN]),
    "an object alone": json.dumps({"facts": BERLIN}),
    "an unclosed list": '{"facts": [' + json.dumps(BERLIN) + "}",
    "a byte order mark": "\ufeff" + facts(BERLIN),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_what_is_not_quite_json_is_repaired(name: str) -> None:
    with chat_server(REPAIRED[name]) as chat:
        found = extractor(chat.url)(memories())
    assert [(fact.statement, fact.sources) for fact in found.facts] == [("Alice lives in Berlin", ("m2",))]


BAD_ITEMS: list[Any] = [
    "Alice lives in Berlin",
    None,
    {"subject": "", "statement": "text"},
    {"subject": "home", "statement": ""},
    {"subject": 7, "statement": "text"},
    {"subject": "home", "statement": ["text"]},
    {"subject": "home", "statement": "text", "date": "2026-02-31"},
    {"subject": "home", "statement": "text", "date": {"year": 2026}},
    {"subject": "home", "statement": "text", "tombstone": "perhaps"},
    {"statement": "no subject"},
]


def test_bad_items_are_told_and_the_others_kept() -> None:
    with chat_server(facts(*BAD_ITEMS, BERLIN)) as chat:
        found = extractor(chat.url)(memories())
    assert [fact.subject for fact in found.facts] == ["Alice's home"]
    assert len(found.rejected) == len(BAD_ITEMS)


def test_odd_values_that_do_no_harm_are_put_right() -> None:
    odd = [
        {
            "subject": "a\x00\n b",
            "statement": "half \ud83d of a pair",
            "confidence": 7,
            "sources": [99, "x", True],
        },
        {
            "subject": "pair",
            "statement": "\ud83d\ude00",
            "confidence": float("nan"),
            "sources": None,
            "date": "",
        },
    ]
    with chat_server(facts(*odd)) as chat:
        first, second = extractor(chat.url)(memories()).facts
    assert (first.subject, first.statement, first.confidence) == ("a b", "half \ufffd of a pair", 1.0)
    assert first.sources == ("m1", "m2")
    assert (second.statement, second.confidence, second.sources) == ("😀", 1.0, ("m1", "m2"))


UNREADABLE: dict[str, Any] = {
    "no text": None,
    "blank": "   ",
    "prose": "I could not find any facts, sorry.",
    "no list": '{"facts": 7}',
    "another object": '{"answer": "yes"}',
    "a number": "7",
    "no choices": completion("x", choices=[]),
    "an error document": {"error": "what?"},
    "html": (200, b"<html>proxy</html>"),
    "empty body": (200, b""),
    "not found": (404, {"error": {"message": "no such model"}}),
    "refused": (400, {"error": {"message": "bad"}}),
    "forbidden": (401, {"error": {"message": "key"}}),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_can_not_be_read_is_an_error(name: str) -> None:
    with chat_server(UNREADABLE[name]) as chat, pytest.raises(ExtractionError) as caught:
        extractor(chat.url)(memories())
    assert not isinstance(caught.value, ExtractorUnavailableError)


@pytest.mark.parametrize("cut", [facts(BERLIN)[:-30], (200, completion(facts(BERLIN), "length"))])
def test_a_cut_answer_is_no_answer(cut: Any) -> None:
    with chat_server(cut) as chat, pytest.raises(ExtractionError, match=r"cut|middle"):
        extractor(chat.url)(memories(1))


def test_half_as_many_are_asked_about_when_an_answer_is_cut() -> None:
    def answer(request: dict[str, Any]) -> Any:
        lines = request["messages"][1]["content"].splitlines()
        many = facts(*({**BERLIN, "subject": f"s{n}", "sources": [n]} for n in range(1, len(lines) + 1)))
        return (200, completion(many[:-10], "length")) if len(lines) > 2 else many

    with chat_server(answer) as chat:
        found = extractor(chat.url)(memories(5))
    assert [fact.sources for fact in found.facts] == [("m1",), ("m2",), ("m3",), ("m4",), ("m5",)]
    assert found.input_tokens == 33


@pytest.mark.parametrize("failure", [(429, {"error": {"message": "slow down"}}), (500, b"oops"), (503, b"")])
def test_a_passing_failure_is_tried_again(failure: Any) -> None:
    with chat_server(failure, facts(BERLIN)) as chat:
        assert len(extractor(chat.url)(memories()).facts) == 1
    assert len(chat.requests) == 2


@pytest.mark.parametrize("failure", [(429, {"error": {"message": "slow down"}}), (500, b"oops"), 1.0])
def test_a_lasting_failure_is_told_as_one_that_may_pass(failure: Any) -> None:
    with chat_server(failure) as chat, pytest.raises(ExtractorUnavailableError):
        extractor(chat.url, timeout=0.3)(memories())
    assert len(chat.requests) == 2


def test_an_endpoint_that_is_not_there_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ExtractorUnavailableError, match="test-model does not answer"):
            extractor(url, max_retries=0)(memories())


def test_an_endpoint_without_schemas_gets_json_mode() -> None:
    with chat_server(facts(BERLIN)) as chat:
        extractor(chat.url, json_schema=False)(memories())
    assert chat.requests[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "options", [{"timeout": -1}, {"timeout": "soon"}, {"max_retries": -1}, {"max_retries": 1.5}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        extractor("http://127.0.0.1:1/v1", **options)


def test_a_missing_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInputError) as caught:
        LLMExtractor("test-model")
    assert caught.value.field == "api_key"


def test_no_memories_ask_nobody() -> None:
    assert extractor("http://127.0.0.1:1/v1")([]).facts == []


def _in_memory(path: Path, ask: Callable[[mnemolog.Memory], Any], texts: Sequence[str] = ("I moved",)) -> Any:
    with mnemolog.open(path, embedder="none") as mem:
        mem.remember_many(texts)
        return ask(mem), [item.text for item in mem.list().items], mem.facts()


def test_a_memory_is_consolidated_by_a_model(tmp_path: Path) -> None:
    with chat_server(facts({**BERLIN, "sources": [1]}, "nonsense")) as chat:
        result, _, known = _in_memory(
            tmp_path, lambda mem: mem.consolidate(extract_facts=extractor(chat.url), older_than_seconds=0)
        )
    assert (len(result.created), len(result.rejected), result.input_tokens, result.output_tokens) == (
        1,
        1,
        11,
        7,
    )
    assert [item.statement for item in known] == ["Alice lives in Berlin"]


def test_a_memory_is_summed_up_by_a_model(tmp_path: Path) -> None:
    with chat_server(json.dumps({"summary": "Alice moved.\x00"})) as chat:
        summarizer = LLMSummarizer("test-model", base_url=chat.url, api_key="key")
        result, texts, _ = _in_memory(
            tmp_path, lambda mem: mem.consolidate(summarize=summarizer, older_than_seconds=0)
        )
    assert (len(result.created), sorted(texts)) == (1, ["Alice moved.", "I moved"])


@pytest.mark.parametrize("answer", ['{"summary": ""}', '{"summary": 7}', '{"other": "x"}', "[1, 2]"])
def test_a_summary_that_is_none_is_an_error_and_the_memories_stay(tmp_path: Path, answer: str) -> None:
    with chat_server(answer) as chat:
        summarizer = LLMSummarizer("test-model", base_url=chat.url, api_key="key")

        def ask(mem: mnemolog.Memory) -> None:
            with pytest.raises(ExtractionError):
                mem.consolidate(summarize=summarizer, older_than_seconds=0, delete_sources=True)

        assert _in_memory(tmp_path, ask)[1] == ["I moved"]

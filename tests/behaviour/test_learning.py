"""Learning from use: what is said of a recall changes later ones, for the questions it was said about."""

from __future__ import annotations

from typing import Any

import pytest
from support.stores import Store
from support.workers import wait_until

from mnemolog import Memory, MnemologError
from mnemolog.processors.reactors.refitter import EVERY_RATINGS
from mnemolog.processors.refit import count_feedback
from mnemolog.schemas.errors import InvalidInputError

DATED = [f"on {day} May 2024 we met for the plan" for day in range(1, 9)]
PLAIN = ["we met for the plan and more of it", "the plan was what we met for", "plan, plan, plan: we met"]


def teach(mem: Memory, rounds: int = 6) -> None:
    """Ask when, and use the one with a date, as often as that."""
    for _ in range(rounds):
        hits = mem.recall("when did we meet for the plan?", k=8)
        used = [hit.memory.id for hit in hits if "May" in hit.memory.text]
        mem.feedback(hits.recall_id, used=used, ignored=[one for one in hits.ids if one not in used])


def test_what_was_used_is_preferred_for_the_same_type_of_question(mem: Memory) -> None:
    mem.remember_many([*DATED[:2], *PLAIN])
    before = {hit.memory.id: hit.score for hit in mem.recall("when did we meet for the plan?", k=8)}
    teach(mem)
    hits = mem.recall("when did we meet for the plan?", k=8)
    for hit in hits:
        grown = hit.score / before[hit.memory.id]
        assert (grown > 1) == ("May" in hit.memory.text)
        assert hit.factors["usefulness"].parts["when×date"] != 0
    other = mem.recall("why did we meet for the plan?", k=8)
    assert all("usefulness" not in hit.factors or hit.factors["usefulness"].value == 1 for hit in other)


def test_a_score_is_the_product_of_its_factors(mem: Memory) -> None:
    mem.remember_many([*DATED, *PLAIN])
    teach(mem)
    for hit in mem.recall("when did we meet for the plan?", k=8):
        product = 1.0
        for factor in hit.factors.values():
            product *= factor.value
            assert factor.value == pytest.approx(factor.base**factor.exponent, rel=1e-12)
        assert product == hit.score


def test_explain_usefulness_shows_what_was_learned(mem: Memory) -> None:
    mem.remember_many([*DATED[:2], *PLAIN])
    teach(mem)
    links = {(link.query_type, link.shape): link for link in mem.explain_usefulness(query_type="when")}
    dated, plain = links["when", "date:yes"], links["when", "date:no"]
    assert dated.lift > 1 > plain.lift
    assert (dated.count, plain.count) == (12, 18)
    assert mem.explain_usefulness(query_type="who") == []
    assert mem.explain_usefulness(min_count=1_000) == []


def test_the_same_feedback_counts_once(mem: Memory) -> None:
    """E1: the same call again, by whomever."""
    mem.remember_many(DATED[:1])
    hits = mem.recall("when did we meet?")
    for _ in range(3):
        mem.feedback(hits.recall_id, used=hits.ids)
    assert mem.explain_usefulness(query_type="when")[0].count == 1
    assert mem.get(hits.ids[0]).use_count == 1  # type: ignore[union-attr]


def test_feedback_may_come_from_another_handle(store: Store) -> None:
    one, other = store.open(), store.open()
    one.remember("on 2 May 2024 we met")
    hits = one.recall("when did we meet?")
    wait_until(lambda: _served(one, hits.recall_id), "the recall to be in the log")
    receipt = other.feedback(hits.recall_id, used=hits.ids)
    other.wait(receipt.position)
    assert other.explain_usefulness(query_type="when")


def _served(mem: Memory, recall_id: str) -> bool:
    tables = mem._queries.usefulness_tables()
    return any(table.where(f"recall_id = '{recall_id}'", ["pk"]).num_rows for table in tables)


def test_a_namespace_borrows_from_the_others_and_takes_its_share_along(folder_store: Store) -> None:
    taught, new = folder_store.open(namespace=("taught",)), folder_store.open(namespace=("new",))
    taught.remember_many([*DATED[:2], *PLAIN])
    new.remember_many([*DATED[:2], *PLAIN])
    teach(taught, 10)
    assert new.explain_usefulness() == []

    def lifts() -> list[float]:
        hits = new.recall("when did we meet for the plan?", k=8)
        return [hit.factors["usefulness"].value if "usefulness" in hit.factors else 1.0 for hit in hits]

    assert max(lifts()) > 1 > min(lifts())
    taught.forget_scope(everything=True)
    assert taught.explain_usefulness() == []
    assert set(lifts()) == {1.0}


def test_forgetting_a_memory_takes_what_it_taught(mem: Memory) -> None:
    (kept, gone) = (receipt.id for receipt in mem.remember_many(["on 1 May we met", "we met"]))
    hits = mem.recall("when did we meet?")
    mem.feedback(hits.recall_id, used=[kept], ignored=[gone])
    assert {link.shape for link in mem.explain_usefulness()} >= {"date:yes", "date:no"}
    mem.forget(gone)
    assert {link.shape for link in mem.explain_usefulness()} >= {"date:yes"}
    assert "date:no" not in {link.shape for link in mem.explain_usefulness()}


def test_ratings_grade(mem: Memory) -> None:
    (receipt,) = mem.remember_many(["on 1 May we met"])
    hits = mem.recall("when did we meet?")
    mem.feedback(hits.recall_id, ratings={receipt.id: 0.9})
    assert mem.get(receipt.id).use_count == 1  # type: ignore[union-attr]
    (link,) = [link for link in mem.explain_usefulness() if link.shape == "date:yes"]
    assert link.count == 1


def test_nothing_is_kept_of_recalls_where_that_was_chosen(folder_store: Store) -> None:
    mem = folder_store.open(track="off")
    mem.remember("on 1 May we met")
    hits = mem.recall("when did we meet?")
    mem.feedback(hits.recall_id, used=hits.ids)
    assert mem.explain_usefulness() == []
    assert mem.get(hits.ids[0]).use_count == 1  # type: ignore[union-attr]


def test_queries_are_left_out_where_that_was_chosen(folder_store: Store) -> None:
    for track, kept in (("text", True), ("features", False)):
        with folder_store.open(track=track) as mem:
            mem.remember("on 1 May we met")
            hits = mem.recall("when did we meet secretly?")
            mem.feedback(hits.recall_id, used=hits.ids)
            records = mem._session.log.read("mnemolog.feedback", 0, 0, 100)
            assert any(b"secretly" in (record.value or b"") for record in records[-2:]) is kept


def test_a_refit_needs_feedback_and_says_what_it_found(folder_store: Store) -> None:
    mem = folder_store.open()
    assert mem.refit_usefulness() is None
    mem.remember_many([*DATED[:2], *PLAIN])
    teach(mem, 3)
    refit = mem.refit_usefulness()
    assert refit is not None
    assert not refit.served, "three recalls are no evidence"
    assert refit.evidence == 3
    assert count_feedback(mem._queries.usefulness_tables()) == 15
    assert mem.recall("when did we meet for the plan?")


def test_the_model_is_fitted_by_itself_once_there_is_enough_feedback(folder_store: Store) -> None:
    mem = folder_store.open()
    mem.remember_many([*DATED[:4], *PLAIN])
    teach(mem, EVERY_RATINGS // 7 + 1)
    wait_until(lambda: _models(mem) != [], "a model")
    (model,) = _models(mem)
    assert model["evidence"] >= EVERY_RATINGS // 7
    assert not model["served"], "so few recalls are no evidence"


def _models(mem: Memory) -> list[dict[str, Any]]:
    tables = mem._queries.usefulness_tables()
    return [row for table in tables for row in table.where("evidence IS NOT NULL").to_pylist()]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda mem: mem.feedback("r"), "used"),
        (lambda mem: mem.feedback("r", used=["a"], ignored=["a"]), "ignored"),
        (lambda mem: mem.feedback("r", used=["a"], ratings={"a": 0.5}), "ratings"),
        (lambda mem: mem.feedback("r", ratings={"a": 1.5}), "ratings"),
        (lambda mem: mem.feedback("r", ratings={"a": float("nan")}), "ratings"),
        (lambda mem: mem.feedback("r", ratings=[("a", 1)]), "ratings"),
        (lambda mem: mem.mark_used([]), "used"),
        (lambda mem: mem.explain_usefulness(min_count=-1), "min_count"),
    ],
)
def test_feedback_that_makes_no_sense_is_refused(mem: Memory, call: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call(mem)  # type: ignore[operator]
    assert caught.value.field == field


def test_tracking_is_one_of_three(folder_store: Store) -> None:
    with pytest.raises(MnemologError, match="track is one of"):
        folder_store.open(track="everything")

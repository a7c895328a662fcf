"""Remember, recall with reasons, supersede, give feedback, forget. Run: python examples/quickstart.py"""

from __future__ import annotations

import tempfile

import mnemolog


def main() -> None:
    """Show the verbs on a memory that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, mnemolog.open(folder, ("acme", "alice")) as memory:
        memory.remember("Alice is vegetarian and allergic to peanuts", kind="preference", key="diet")
        memory.remember("Alice's flight to Lisbon leaves Friday at 9:40", kind="fact", tags=["travel"])
        newer = memory.remember("Alice eats fish now", kind="preference", key="diet")
        hits = memory.recall("what can I cook for Alice?", k=3)
        for hit in hits:
            print(hit.memory.text, "|", hit.explain())
        memory.feedback(hits.recall_id, used=[hits[0].memory.id])
        memory.forget(newer.id, reason="she changed her mind")
        for change in memory.history(newer.id):
            print(change.type, change.occurred_at.isoformat(), change.reason or "")
        print(memory.recall("what does Alice eat?", k=1)[0].memory.text)


if __name__ == "__main__":
    main()

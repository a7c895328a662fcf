"""The conversation of `mnemolog demo`, written for it: Mara and the assistant that helps her move."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_DAYS = {
    "moving": datetime(2026, 3, 2, 9, 0, tzinfo=UTC),
    "kitchen": datetime(2026, 3, 9, 18, 30, tzinfo=UTC),
    "weekend": datetime(2026, 3, 14, 11, 15, tzinfo=UTC),
}

_LINES = (
    ("moving", "m01", "Mara", "I signed the lease for the flat above the bakery in Rua das Flores!"),
    ("moving", "m02", "assistant", "Congratulations! Shall I put the handover into the calendar?"),
    ("moving", "m03", "Mara", "Yes: I get the keys on the 28th of March, at ten, from Dona Celeste."),
    ("moving", "m04", "assistant", "Noted. Shall I look for a van?"),
    ("moving", "m05", "Mara", "Yes please, a small one. My piano stays with my brother Tomás for now."),
    ("moving", "m06", "assistant", "A van for half a day costs 65 euros at Carga Leve. I reserved one."),
    ("moving", "m07", "Mara", "Please never call me before nine, I work night shifts at the harbour."),
    ("kitchen", "k01", "Mara", "What can I cook tonight? I only have lentils and half a pumpkin."),
    ("kitchen", "k02", "assistant", "A lentil soup with roasted pumpkin works. Do you like ginger?"),
    ("kitchen", "k03", "Mara", "I love ginger, but hazelnuts are out: I am allergic to them."),
    ("kitchen", "k04", "Mara", "My sourdough starter is called Gustav. He wants flour every second day."),
    ("kitchen", "k05", "assistant", "I will remind you of Gustav on even days."),
    ("kitchen", "k06", "Mara", "The door code of the old flat is 4711, until I move out."),
    ("weekend", "w01", "Mara", "My bicycle was stolen outside the library this morning. The green one."),
    ("weekend", "w02", "assistant", "I am sorry. Its frame number is PT-88213; the police will ask for it."),
    ("weekend", "w03", "Mara", "Thank you. The dentist moved my appointment to Tuesday at half past four."),
    ("weekend", "w04", "assistant", "Tuesday, 16:30, Dr. Abreu. I changed it in the calendar."),
    ("weekend", "w05", "Mara", "My sister Inês gets married in Évora in June, and I am to play the piano."),
)  # fmt: skip

DIET_KEY = "mara.diet"
OLD_DIET = {
    "id": "diet-old",
    "text": "Mara is vegetarian: she eats neither meat nor fish.",
    "kind": "preference",
    "key": DIET_KEY,
    "author": "assistant",
    "thread_id": "kitchen",
    "importance": 0.8,
    "occurred_at": _DAYS["kitchen"],
}
NEW_DIET = {
    **OLD_DIET,
    "id": "diet-new",
    "text": "Mara eats fish again, but still no meat.",
    "thread_id": "weekend",
    "occurred_at": _DAYS["weekend"],
}
DIET_QUESTION = "What does Mara eat, meat or fish?"

QUESTIONS = (
    ("Which nuts is Mara allergic to?", "k03"),
    ("When does she get the keys to the new flat?", "m03"),
    ("How much does the van cost?", "m06"),
    ("What is the name of the sourdough starter?", "k04"),
)
"""What is asked, and the id of the memory that answers it."""

SECRET, SECRET_QUESTION = "k06", "What is the door code of the old flat?"


def messages() -> list[dict[str, Any]]:
    """The arguments of `remember` for each message, in the order they were said."""
    return [
        {"id": name, "author": author, "text": text, "thread_id": thread, "occurred_at": _DAYS[thread]}
        for thread, name, author, text in _LINES
    ]

"""The folds: pure functions from events to rows. The same ones run in Faust, in replay and embedded."""

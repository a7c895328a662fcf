"""Compare what was known at two moments."""

from __future__ import annotations

from mnemolog.query.diff import Diff, diff_of
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.moments import Moment
from mnemolog.verbs.handle import Handle


class Comparing(Handle):
    """The verbs that compare."""

    def diff(self, a: Moment, b: Moment | None = None) -> Diff:
        """What was learned, changed and forgotten from `a` to `b`, moments as in `recall(as_of=…)`.

        Without `b`, up to now. It holds both states of the namespace in memory.

        Raises:
            InvalidInputError: `b` is before `a`; see `recall` for what else.
        """
        before = self._past(a, field="a")
        after = self._past(self._commands.clock() if b is None else b, field="b")
        first, last = before.as_of, after.as_of
        if first.position is not None and (last.position is None or last.position < first.position):
            raise InvalidInputError(f"b, {last.time.isoformat()}, is before a", field="b")
        old, new = before.queries.table.every(), after.queries.table.every()
        gone = old.keys() - new.keys()
        return diff_of(first, last, old, new, after.queries.forgotten(gone))

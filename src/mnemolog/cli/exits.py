"""What the exit codes mean, and which error ends with which."""

from __future__ import annotations

from enum import IntEnum

from mnemolog.schemas import errors as err


class ExitCode(IntEnum):
    """The exit codes of every command."""

    OK = 0
    INCOMPLETE = 1
    USAGE = 2
    UNAVAILABLE = 3
    TIMEOUT = 4
    FAILED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.INCOMPLETE: "something named was not found, or a part failed",
    ExitCode.USAGE: "wrong usage or invalid input; nothing was written",
    ExitCode.UNAVAILABLE: "the log or the views can't be reached, or are not there",
    ExitCode.TIMEOUT: "the views did not follow in time; what was written is safe",
    ExitCode.FAILED: "anything else",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
    ExitCode.BROKEN_PIPE: "whoever read the output went away",
}

_BY_ERROR: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (err.NotFoundError, ExitCode.INCOMPLETE),
    (err.InvalidInputError, ExitCode.USAGE),
    (err.EmbedderMismatchError, ExitCode.USAGE),
    (err.WaitTimeoutError, ExitCode.TIMEOUT),
    (err.LogError, ExitCode.UNAVAILABLE),
    (err.ViewError, ExitCode.UNAVAILABLE),
    (err.MnemologError, ExitCode.FAILED),
    (BrokenPipeError, ExitCode.BROKEN_PIPE),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (OSError, ExitCode.UNAVAILABLE),
)


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code of a command that ends with `error`."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.FAILED)


def describe_exit_codes() -> str:
    """The table for `--help`."""
    return "\n".join(f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())

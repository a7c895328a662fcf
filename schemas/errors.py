"""Every error that mnemolog raises on purpose. Catch `MnemologError` to catch them all."""

from __future__ import annotations


class MnemologError(Exception):
    """Base of all errors of this library."""


class InvalidInputError(MnemologError, ValueError):
    """The caller passed something that can't be stored or asked; nothing was appended.

    `field` names the argument, where one is to blame.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class FilterError(InvalidInputError):
    """A filter names an unknown field or operator, or a value of the wrong type."""


class NotFoundError(MnemologError, KeyError):
    """A memory, a recall or a topic that was named does not exist in this namespace.

    `field` names the argument that named it, where there are several.
    """

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingExtraError(MnemologError, ImportError):
    """A package is not installed that an optional part needs; the message says what to install."""


class CodecError(MnemologError):
    """Bytes that are no event this version can read. The worker dead-letters them and goes on."""


class UnknownEventTypeError(CodecError):
    """A well-formed envelope with a type, or a newer schema version, that this version does not know."""


class LogError(MnemologError):
    """The log could not be read or written."""


class LogUnavailableError(LogError):
    """The broker does not answer, or the log file can't be opened or grown. Retry later."""


class DeliveryError(LogError):
    """An event was not acknowledged. `record` is the record that was not appended."""

    def __init__(self, message: str, record: object = None) -> None:
        super().__init__(message)
        self.record = record


class RecordRefusedError(DeliveryError):
    """The log does not take this record, say for its size: another try won't help."""


class BackpressureError(LogError):
    """The producer's bounded buffer stayed full for longer than it may block."""


class ViewError(MnemologError):
    """A view could not be read or written."""


class ViewMissingError(ViewError):
    """There is no view at this place yet."""


class GenerationReplacedError(ViewError):
    """Another generation of the views is live by now: the one at hand takes no more writes."""


class EmbedderMismatchError(ViewError):
    """The view was built with another embedding model than the one given."""


class EmbeddingError(MnemologError):
    """The embedder failed or returned something that is not one finite vector a text."""


class WaitTimeoutError(MnemologError, TimeoutError):
    """A view did not reach the asked position in time; the event itself is safe in the log."""


class ClosedError(MnemologError):
    """The handle was closed."""


class ExtractionError(MnemologError):
    """An extractor or summarizer failed, or gave what can't be used; the memories stay as they are."""


class ExtractorUnavailableError(ExtractionError):
    """The model's endpoint does not answer, or not now. Retry later."""

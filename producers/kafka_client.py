"""How every kafka-python client is made, and what its errors mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from kafka.errors import KafkaConfigurationError, KafkaError

from mnemolog.schemas.checks import check_seconds
from mnemolog.schemas.errors import InvalidInputError, LogUnavailableError

ClientT = TypeVar("ClientT")


class ClientSettings:
    """Where the brokers are, how long they may take, and extra settings for every client."""

    def __init__(
        self, bootstrap: str | Sequence[str], timeout_seconds: float, options: Mapping[str, Any]
    ) -> None:
        given = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
        servers = list(given) if isinstance(given, Iterable) else []
        self.servers = [server.strip() for server in servers if isinstance(server, str) and server.strip()]
        if not self.servers or len([server for server in servers if not isinstance(server, str)]):
            raise InvalidInputError("give the brokers as 'host:port', several by comma", field="kafka")
        self.timeout_seconds = check_seconds("timeout_seconds", timeout_seconds)
        self._options = dict(options)

    def __str__(self) -> str:
        return ",".join(self.servers)

    @property
    def timeout_ms(self) -> int:
        """The bound of every call."""
        return int(self.timeout_seconds * 1000)

    def make(self, client: Callable[..., ClientT], **settings: Any) -> ClientT:
        """A connected client.

        Raises:
            LogUnavailableError: no broker answered in time.
            InvalidInputError: an address or an option that makes no sense.
        """
        shared = {
            "bootstrap_servers": self.servers,
            "bootstrap_timeout_ms": self.timeout_ms,
            "reconnect_backoff_max_ms": 1_000,
        }
        try:
            with self.translated():
                return client(**{**shared, **settings, **self._options})
        except (ValueError, KafkaConfigurationError) as error:
            raise InvalidInputError(f"Kafka {self}: {error}", field="kafka") from error

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns kafka-python's errors into ours."""
        try:
            yield
        except KafkaConfigurationError:
            raise
        except KafkaError as error:
            raise LogUnavailableError(
                f"Kafka at {self} did not answer within {self.timeout_seconds:g} s ({error}):"
                " check the address and that a broker runs there, then retry"
            ) from error

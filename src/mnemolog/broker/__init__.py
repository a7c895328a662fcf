"""A real Apache Kafka on this machine, without Docker, Java or Maven installed (extra `mnemolog[broker]`)."""

from mnemolog.broker.errors import BrokerError
from mnemolog.broker.local import BrokerStatus, LocalBroker
from mnemolog.broker.pinned import KAFKA_VERSION
from mnemolog.broker.runtime import is_ready
from mnemolog.broker.settings import BROKER_SETTINGS

__all__ = ["BROKER_SETTINGS", "KAFKA_VERSION", "BrokerError", "BrokerStatus", "LocalBroker", "is_ready"]

"""What the broker is told: its server settings, its JVM flags, and where it writes its log."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NODE_ID = "1"
LOG_FILE = "broker.log"
OUTPUT_FILE = "broker.out"
STORAGE_FOLDER = "kafka"

BROKER_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # A misspelt topic is an error; topics are created with their partitions by `mnemolog init`.
        "auto.create.topics.enable": "false",
        # The log is the truth: nothing in it expires, neither do the positions of groups that rest.
        "log.retention.ms": "-1",
        "log.retention.bytes": "-1",
        "offsets.retention.minutes": "2147483647",
        # With one replica nobody else holds the data: bound what a power cut can take to about a second, and
        # what an unclean restart has to scan.
        "log.flush.interval.ms": "1000",
        "log.flush.scheduler.interval.ms": "1000",
        # One broker: internal topics can have one replica only, and 50 partitions of them gain nothing.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        # The first consumer of a group need not wait 3 s for company.
        "group.initial.rebalance.delay.ms": "0",
        # After a crash the controller refuses the broker until its former session has ended: 9 s by default.
        # A stall of more than 2 s only makes clients retry (tried with 5 s: nothing lost, nothing doubled).
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
        # A small machine: fewer threads, and 16 MiB for the cleaner in place of 128 of the heap.
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.dedupe.buffer.size": "16777216",
    }
)
"""Settings that every broker of this project shares: this one, the tests', and docker-compose."""

# On two shared cores, C1 alone with the serial collector starts the broker in 3.2 s instead of 5.0, serves
# the same 15,000 records/s for 2.7 instead of 4.3 CPU seconds per 100,000, and holds 280 MiB, not 430.
JVM_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "-Dlog4j2.configurationFile=log4j2.properties",
)

LOG4J2_PROPERTIES = f"""\
shutdownHook=disable
appender.file.type=RollingFile
appender.file.name=file
appender.file.fileName={LOG_FILE}
appender.file.filePattern={LOG_FILE}.%i
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=[%d] %p %m (%c)%n
appender.file.policies.type=SizeBasedTriggeringPolicy
appender.file.policies.size=10MB
appender.file.strategy.type=DefaultRolloverStrategy
appender.file.strategy.max=2
rootLogger.level=info
rootLogger.appenderRef.file.ref=file
"""


def server_properties(port: int, controller_port: int) -> str:
    """The text of server.properties. Paths are relative: the JVM runs inside the data folder."""
    place = {
        "process.roles": "broker,controller",
        "node.id": NODE_ID,
        "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": STORAGE_FOLDER,
    }
    return "".join(f"{key}={value}\n" for key, value in {**place, **BROKER_SETTINGS}.items())

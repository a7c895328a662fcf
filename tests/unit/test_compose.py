"""The compose file: what can be held to the code without a Docker engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mnemolog.broker.settings import BROKER_SETTINGS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document


def test_the_broker_is_set_up_as_in_the_tests(compose: dict[str, Any]) -> None:
    environment = compose["services"]["kafka"]["environment"]
    expected = {f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in BROKER_SETTINGS.items()}
    assert expected.items() <= environment.items()


def test_the_broker_is_the_version_that_the_tests_run(compose: dict[str, Any]) -> None:
    from mnemolog.broker.pinned import KAFKA_VERSION

    assert compose["services"]["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"


def test_images_are_named_with_a_version(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])


def test_two_workers_wait_for_the_topics_and_the_store(compose: dict[str, Any]) -> None:
    workers = [service for service in compose["services"].values() if service.get("command") == ["worker"]]
    assert len(workers) == 2
    for worker in workers:
        assert worker["depends_on"]["topics"]["condition"] == "service_completed_successfully"
        assert worker["depends_on"]["store"]["condition"] == "service_healthy"


def test_what_must_survive_is_in_volumes(compose: dict[str, Any]) -> None:
    mounted = {
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", [])
    }
    assert mounted == set(compose["volumes"])
    for name in ("kafka", "store"):
        assert compose["services"][name]["healthcheck"]["test"]

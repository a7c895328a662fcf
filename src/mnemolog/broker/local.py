"""A real Apache Kafka on this machine, from Python packages alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from mnemolog.broker import ports, processes, settings
from mnemolog.broker.errors import BrokerError
from mnemolog.broker.locks import locked
from mnemolog.broker.runtime import await_answer, launch, new_mark, prepare, runtime

_KILL_TIMEOUT = 20
# A killed process is gone from the process list a little before the system closes its sockets.
_PORT_TIMEOUT = 5
_LOG_TAIL = 20


@dataclass(frozen=True)
class BrokerStatus:
    """What is known of a broker. `pid` is None while it does not run, `bootstrap` until its first start."""

    running: bool
    pid: int | None
    bootstrap: str | None
    data_dir: Path
    log: Path


@dataclass(frozen=True)
class _State:
    """What is kept in the data folder, so that any process can find the broker."""

    port: int
    pid: int | None
    mark: str

    def is_running(self) -> bool:
        return self.pid is not None and processes.is_running(self.pid, self.mark)


class LocalBroker:
    """A handle on the broker of a data folder; all handles on a folder, in any process, mean the same one.

    The data lives in the folder, and so survives `stop`, `kill` and `start`; the folder may be moved while
    the broker is stopped. The broker outlives the process that started it.

    port: where clients connect, on 127.0.0.1 only. 0 keeps the port of the folder's last start, or picks a
        free one below the range of outgoing connections (20000-29999). heap_mb: the JVM's -Xmx, in MiB.
    """

    def __init__(self, data_dir: str | os.PathLike[str], port: int = 0, heap_mb: int = 512) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.port = port
        self.heap_mb = heap_mb

    @property
    def log(self) -> Path:
        """Kafka's log file (rotated at 10 MB, two older ones are kept)."""
        return self.data_dir / settings.LOG_FILE

    @property
    def bootstrap(self) -> str:
        """`127.0.0.1:PORT`. Raises BrokerError if the broker was never started."""
        state = self._state()
        if state is None:
            raise BrokerError(f"No broker was started in {self.data_dir} yet: start it first.")
        return f"{ports.HOST}:{state.port}"

    def status(self) -> BrokerStatus:
        """Whether it runs, and where. A stale pid, after a crash or a reboot, does not count as running."""
        state = self._state()
        running = state is not None and state.is_running()
        return BrokerStatus(
            running=running,
            pid=state.pid if state and running else None,
            bootstrap=f"{ports.HOST}:{state.port}" if state else None,
            data_dir=self.data_dir,
            log=self.log,
        )

    def start(self, timeout: float = 90) -> LocalBroker:
        """Start the broker and wait until it answers; if it runs already, only make sure that it answers.

        timeout: seconds from the launch to the first answer; what is fetched and prepared once comes on top.
        Raises BrokerError if packages or jars are missing, the port is taken, or Kafka does not come up.
        """
        with self._alone():
            state = self._state()
            if state is None or not state.is_running():
                self._launch(state, timeout)
            else:
                self._check_same_port(state)
                self._await(state, timeout)
        return self

    def stop(self, timeout: float = 30) -> bool:
        """Shut the broker down in order; after `timeout` seconds, kill it. False if it did not run."""
        with self._alone():
            state = self._state()
            if state is None or state.pid is None or not state.is_running():
                return False
            if not processes.end(state.pid, state.mark, signal.SIGTERM, timeout):
                self.kill()
            return True

    def kill(self) -> bool:
        """Kill the broker at once (SIGKILL), as a crash would. False if it did not run."""
        state = self._state()
        if state is None or state.pid is None or not state.is_running():
            return False
        if not processes.end(state.pid, state.mark, signal.SIGKILL, _KILL_TIMEOUT):
            raise BrokerError(f"The broker (pid {state.pid}) does not die: the system holds it.")
        return True

    def _launch(self, last: _State | None, timeout: float) -> None:
        java, mark, port = runtime(), new_mark(), self._choose_port(last)
        try:
            prepare(java, self.data_dir, port, ports.free_port(avoid=port))
            state = _State(port, launch(java, self.data_dir, mark, self.heap_mb), mark)
            self._save(state)
        except (OSError, subprocess.SubprocessError) as error:
            raise BrokerError(f"The broker could not be launched in {self.data_dir}: {error}") from error
        self._await(state, timeout)

    def _choose_port(self, last: _State | None) -> int:
        port = self.port or (last.port if last else ports.free_port())
        patience = _PORT_TIMEOUT if last and last.port == port else 0
        if not ports.wait_free(port, patience):
            raise BrokerError(
                f"Port {port} is taken by another program: stop that, or start with another port "
                f"(mnemolog broker start --port N)."
            )
        return port

    def _check_same_port(self, state: _State) -> None:
        if self.port not in (0, state.port):
            raise BrokerError(
                f"The broker of {self.data_dir} already runs on port {state.port}: stop it first to move it "
                f"to port {self.port}."
            )

    def _await(self, state: _State, timeout: float) -> None:
        if state.pid is None or await_answer(state.pid, state.mark, state.port, timeout):
            return
        died = not state.is_running()
        self.kill()
        problem = "died while starting" if died else f"did not answer within {timeout:g} s"
        raise BrokerError(f"The broker in {self.data_dir} {problem}. Its last words:\n{self._last_lines()}")

    def _last_lines(self) -> str:
        files = (self.data_dir / settings.OUTPUT_FILE, self.log)
        texts = (file.read_text(errors="replace") for file in files if file.exists())
        return "\n".join(line for text in texts for line in text.splitlines()[-_LOG_TAIL:])

    def _alone(self) -> AbstractContextManager[None]:
        return locked(self.data_dir / "broker.lock")

    def _state(self) -> _State | None:
        try:
            return _State(**json.loads((self.data_dir / "broker.json").read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise BrokerError(f"{self.data_dir}/broker.json is damaged ({error}): remove it.") from error

    def _save(self, state: _State) -> None:
        draft = self.data_dir / "broker.json.new"
        draft.write_text(json.dumps(asdict(state)))
        draft.replace(self.data_dir / "broker.json")

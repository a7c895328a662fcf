"""Telemetry is optional: nothing else imports it, and without its packages there is a clear error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.telemetry import scrape

from mnemolog.broker.ports import free_port
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.telemetry.worker_metrics import (
    MetricsAddressError,
    MetricsServer,
    WorkerMetrics,
    serve_metrics,
)

PACKAGES = ("prometheus_client", "opentelemetry")
HINT = 'pip install "mnemolog[telemetry]"'


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_program_that_does_not_ask_for_it_does_not_load_it(tmp_path: Path) -> None:
    code = f"""
import sys, mnemolog, mnemolog.worker
with mnemolog.open({str(tmp_path)!r}, embedder="none") as memory:
    memory.remember("x")
    memory.recall("x")
print([name for name in sys.modules if name.startswith({(*PACKAGES, "mnemolog.telemetry")!r})])
"""
    assert run(code).stdout == "[]\n"


@pytest.mark.parametrize("missing", PACKAGES)
def test_without_a_package_the_error_says_what_to_install(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
import mnemolog
try:
    import mnemolog.telemetry
except mnemolog.MnemologError as error:
    print(isinstance(error, ImportError), error)
"""
    said = run(code).stdout
    assert said.startswith("True ")
    assert said.endswith(f"{HINT}\n")


SET_UP = (
    "import opentelemetry.trace as t; from opentelemetry.sdk.trace import TracerProvider as P;"
    " t.set_tracer_provider(P())"
)


@pytest.mark.parametrize(
    ("before", "traces"),
    [
        ("", False),
        ("import opentelemetry.trace", False),
        ("import opentelemetry.trace as t; t.set_tracer_provider(t.NoOpTracerProvider())", False),
        (SET_UP, True),
        (f"{SET_UP}; sys.modules['prometheus_client'] = None", False),
    ],
)
def test_a_worker_traces_only_where_opentelemetry_is_set_up_and_the_extra_is_there(
    before: str, traces: bool
) -> None:
    code = f"""
import sys
{before}
from mnemolog.worker_telemetry import tracing
print(tracing("group") is not None, "opentelemetry" in sys.modules)
"""
    assert run(code).stdout == f"{traces} {bool(before)}\n"


def test_without_a_package_a_worker_that_shall_serve_metrics_says_so(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["prometheus_client"] = None
from mnemolog.worker import main
arguments = "--kafka 127.0.0.1:1 --embedder none --metrics-port 0 --views"
sys.exit(main([*arguments.split(), {str(tmp_path)!r}]))
"""
    done = run(code)
    assert done.returncode == 1
    assert HINT in done.stderr


def test_a_port_that_is_taken_is_named_and_one_that_was_let_go_is_free() -> None:
    port = free_port()
    with serve_metrics("127.0.0.1", port):
        taken = f"port {port} of 127.0.0.1 is taken"
        with pytest.raises(MetricsAddressError, match=taken), serve_metrics("127.0.0.1", port):
            pass
        value = scrape(f"http://127.0.0.1:{port}/metrics")
        assert value("mnemolog_worker_partitions") == 0
        assert value("mnemolog_dead_letters") is None  # there is no log yet
    with serve_metrics("127.0.0.1", port):  # it was let go
        pass


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(InvalidInputError, match="metrics_port"), serve_metrics("127.0.0.1", port):
        pass


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(MetricsAddressError, match=r"192\.0\.2\.1"), serve_metrics("192.0.2.1", 0):
        pass


@pytest.mark.parametrize("host", ["a..b", "x" * 300, "\ud800"])
def test_a_host_that_none_can_be_is_told(host: str) -> None:
    with pytest.raises(MetricsAddressError, match="no name of a host"), serve_metrics(host, 0):
        pass


def test_an_address_of_version_6_is_shown_as_one_that_can_be_asked() -> None:
    try:
        server = MetricsServer(WorkerMetrics().registry, "::1", 0)
    except MetricsAddressError:
        pytest.skip("this machine has no addresses of version 6")
    try:
        assert server.address.startswith("http://[::1]:")
        assert scrape(server.address)("mnemolog_worker_partitions") == 0
    finally:
        server.close()

"""All benchmarks, one after the other, each in a process of its own. Run: python -m benchmarks

Those on published data need it: set MNEMOLOG_LOCOMO and MNEMOLOG_REALMEM to its folders.
"""

from __future__ import annotations

import os
import subprocess
import sys

MADE_UP = (
    "embedding",
    "telemetry",
    "embedded",
    "operations",
    "recall",
    "graph",
    "consolidate",
    "producer_rates",
    "pipeline",
    "per_core",
)
ON_DATA = {"locomo": "MNEMOLOG_LOCOMO", "realmem": "MNEMOLOG_REALMEM"}
SLOWS_NUMPY = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def run(module: str, *arguments: str) -> bool:
    """Run one benchmark, with what it prints; whether it went well."""
    print(f"\n== {module}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name not in SLOWS_NUMPY}
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return subprocess.run(command, env=environment, check=False).returncode == 0


def run_on_data(module: str, variable: str) -> bool:
    """Run one benchmark on published data, if it is there."""
    folder = os.environ.get(variable)
    if folder is None:
        print(f"\n== {module}: left out, set {variable} to the folder of its data", flush=True)
        return True
    return run(module, "--data", folder)


def main() -> int:
    """Run all; the exit code is 1 if one of them failed."""
    went_well = [run(module) for module in MADE_UP]
    went_well += [run_on_data(module, variable) for module, variable in ON_DATA.items()]
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())

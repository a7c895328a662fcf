"""The command line `mnemolog`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit."""
    try:
        from mnemolog.cli.app import app

        app()
    except KeyboardInterrupt:  # before there was a command that could end in order
        sys.exit(130)

"""The command line `mnemolog`."""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process and exit."""
    from mnemolog.cli.app import app

    app()

"""The command line: each subcommand has a file that reads options, calls a function and prints.

Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

from evenkey.cli.app import app, main

__all__ = ["app", "main"]

"""The command line: one file per subcommand, which parses, calls and prints.

Exit codes: 0 done, 2 bad usage or configuration, 1 failed, 130 interrupted.
"""

from __future__ import annotations

from evenkey.cli.app import app, main

__all__ = ["app", "main"]

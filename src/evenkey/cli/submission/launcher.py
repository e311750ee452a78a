"""Main file for ``spark-submit``: it runs ``evenkey submit`` with the arguments that follow it."""

from __future__ import annotations

import sys

from evenkey.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "submit")
    main()

"""Main file for ``spark-submit``: it runs ``evenkey submit`` with the arguments that follow it."""

from __future__ import annotations

import sys
from pathlib import Path

from evenkey.cli import main

_OWN = str(Path(__file__).resolve().parent)

if __name__ == "__main__":
    # Python puts the directory of its main file first; the program must not import from it.
    sys.path[:] = [each for each in sys.path if each != _OWN]
    sys.argv.insert(1, "submit")
    main()

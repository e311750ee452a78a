"""``python -m evenkey`` is the program ``evenkey``."""

from __future__ import annotations

from evenkey.cli import main

if __name__ == "__main__":
    main()

"""Write the pages of the documentation site into a directory: python -m tools.site DIRECTORY."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.site.tree import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))

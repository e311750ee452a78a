"""Exit with an error that names the fix if this Python is too old to set up the project."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the point of this script
    have = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"Python {have} ({sys.executable}) is too old: run make PYTHON=python3.11, or later")

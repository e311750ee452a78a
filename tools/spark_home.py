"""Spark's home for tests: links to the installed one, without its zipped Python.

Spark lets each Python process that it starts import PySpark from a zip, which has no compiled
files: every one of them compiles PySpark anew, for two thirds of a second. Where there is no zip,
the same files are imported from the installed package, with Python's caches.
"""

from __future__ import annotations

import os
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["use_home_without_zips"]

_HOMES = Path(__file__).parents[1] / "build" / "spark-homes"


def use_home_without_zips() -> None:
    """Let Spark be started from such a home, unless one is named already."""
    if "SPARK_HOME" not in os.environ:
        os.environ["SPARK_HOME"] = str(_home())


def _home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None  # noqa: S101 - it is installed where tests run
    assert spec.origin is not None  # noqa: S101 - as above
    installed, home = Path(spec.origin).parent, _HOMES / version("pyspark")
    if home.is_dir():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=home.parent))
    for name in ("bin", "jars"):
        (made / name).symlink_to(installed / name)
    try:
        made.rename(home)
    except OSError:
        # Another process of the same tests was first.
        if not home.is_dir():
            raise
    return home

"""A ``SPARK_HOME`` for tests: links to the installed one, but without its zip of PySpark.

Each Python process that Spark starts imports PySpark from that zip. It contains no compiled files,
so every process compiles PySpark again, which takes two thirds of a second. Without the zip, the
same files are imported from the installed package, with Python's cached bytecode.
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
    """Set ``SPARK_HOME`` to such a home, unless it is already set."""
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
        # Another process of the same tests has made it in the meantime.
        if not home.is_dir():
            raise
    return home

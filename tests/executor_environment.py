"""A Python environment for executors: the packages of this environment, except for some."""

from __future__ import annotations

import re
import sys
import sysconfig
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["NOT_ON_EXECUTORS", "make_environment"]

NOT_ON_EXECUTORS = ("evenkey", "numba", "llvmlite", "xxhash")
"""Packages that executors do not need for operators that need no compiler."""


def make_environment(directory: Path, without: Collection[str] = NOT_ON_EXECUTORS) -> Path:
    """Make an environment that links to the packages of this one; return its interpreter.

    Parameters
    ----------
    directory
        Directory of the environment, which does not exist yet.
    without
        Packages that are left out; packages installed as editable are always left out.
    """
    venv.EnvBuilder(symlinks=True).create(directory)
    here = Path(sysconfig.get_path("purelib"))
    there = directory / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    for entry in here.iterdir():
        package = re.split(r"[-.]", entry.name)[0].lower()
        if entry.suffix != ".pth" and package not in without:
            (there / entry.name).symlink_to(entry)
    return directory / "bin" / Path(sys.executable).name

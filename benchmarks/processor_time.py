"""Measure the processor time of this process and its children, which other load hardly affects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["processor_seconds"]


def processor_seconds(without: Container[str] = ()) -> float:
    """Return the processor seconds of this process and of all its descendants, ended ones too.

    A descendant that ends after its parent, as a daemon does, is missing from the sum.

    Parameters
    ----------
    without
        Names of programs to leave out, such as servers.
    """
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = file.read_text().rpartition(")")
        except OSError:  # the process has just ended
            continue
        fields, number = rest.split(), int(file.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        # The process's own user and system time, then that of children it has waited for.
        ticks[number] = 0 if name.partition("(")[2] in without else sum(map(int, fields[11:15]))
    found = [os.getpid()]
    for each in found:
        found += children.get(each, [])
    return sum(ticks.get(each, 0) for each in found) / os.sysconf("SC_CLK_TCK")

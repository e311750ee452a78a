"""Processor time of this process and its children: other load hardly affects it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["processor_seconds"]


def processor_seconds(without: Container[str] = ()) -> float:
    """Seconds that this process, its descendants and those of them that have ended have worked.

    A descendant that ends after its parent, as a daemon does, is lost from the sum.

    Parameters
    ----------
    without
        Names of programs that do not count, such as servers.
    """
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = file.read_text().rpartition(")")
        except OSError:  # it has just ended
            continue
        fields, number = rest.split(), int(file.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        # User and system time of its own, then of children that it has waited for.
        ticks[number] = 0 if name.partition("(")[2] in without else sum(map(int, fields[11:15]))
    found = [os.getpid()]
    for each in found:
        found += children.get(each, [])
    return sum(ticks.get(each, 0) for each in found) / os.sysconf("SC_CLK_TCK")

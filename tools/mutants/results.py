"""The results of a run: for each subpackage, how many mutants its tests kill."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

__all__ = ["EACH", "ENOUGH", "table"]

EACH, ENOUGH = 5, 4
"""Number of mutants of each subpackage that the fast tests get, and that they must kill. Of fewer
mutants, they must kill the same share."""


def table(fates: Mapping[str, Counter[str]], *, fast: bool) -> tuple[list[str], bool]:
    """Return the lines to print, and whether the tests killed enough mutants of each subpackage.

    Parameters
    ----------
    fates
        Number of mutants by fate, for each subpackage.
    fast
        Whether only fast tests ran. Without it, any number is enough.

    Examples
    --------
    >>> from collections import Counter
    >>> table({"joins": Counter(killed=3, survived=1), "papers": Counter()}, fast=True)
    (['joins         3 of 4  too few', 'papers        no mutants'], False)
    """
    lines, all_enough = [], True
    for name, counts in fates.items():
        if not fast:
            lines += [f"{name:14}{fate:10}{count:6}" for fate, count in sorted(counts.items())]
        elif not counts.total():
            lines.append(f"{name:14}no mutants")
        else:
            dead, drawn = counts["killed"] + counts["exceeded"], counts.total()
            enough = dead * EACH >= drawn * ENOUGH
            all_enough = all_enough and enough
            lines.append(f"{name:14}{dead} of {drawn}{'' if enough else '  too few'}")
    return lines, all_enough

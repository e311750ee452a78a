"""Interleaved rounds of A, A once more and B."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.compare.load import Guard, Reading
    from tools.compare.sides import Side

__all__ = ["NAMES", "Round", "measure", "orders"]

NAMES = ("A", "A'", "B")
"""A' is A once more: the control."""


@dataclass(frozen=True)
class Round:
    """One run of each.

    Parameters
    ----------
    order
        In which they ran.
    seconds
        Of each.
    load
        Readings of the machine before the round, and where each has its process, before each.
    versions
        Of Python, Java and packages, by side.
    """

    order: tuple[str, ...]
    seconds: dict[str, float]
    load: list[Reading]
    versions: dict[str, dict[str, str | None]]


def orders(rounds: int, seed: int) -> list[tuple[str, ...]]:
    """Draw the order of each round; every six rounds each order comes once.

    Examples
    --------
    >>> len(set(orders(6, seed=1)))
    6
    """
    draw, found = random.Random(seed), list[tuple[str, ...]]()  # noqa: S311 - no secret
    while len(found) < rounds:
        every = list(permutations(NAMES))
        draw.shuffle(every)
        found += every
    return found[:rounds]


def measure(
    first: Side,
    second: Side,
    run: Callable[[Sequence[Side]], dict[str, Any]],
    guard: Guard,
    *,
    rounds: int,
    seed: int,
    report: Callable[[str], None],
) -> list[Round]:
    """Measure both sides.

    Sides of one version of the package share a process in each round, so that they share the set-up
    too. Sides of two versions have a process each, A' another one than A.

    Parameters
    ----------
    first, second
        A and B.
    run
        Runs sides in a process; as `run_cases`.
    guard
        Is asked before each process.
    rounds, seed
        How many, and what draws their orders.
    report
        Gets a line of text for each round.

    Raises
    ------
    LoadedError
        The machine is loaded.
    """
    sides = dict(zip(NAMES, (first, first, second), strict=True))
    shared = first.source == second.source
    found: list[Round] = []
    for number, order in enumerate(orders(rounds, seed)):
        seconds: dict[str, float] = {}
        load: list[Reading] = []
        versions: dict[str, dict[str, str | None]] = {}
        for names in [order] if shared else [(name,) for name in order]:
            load.append(guard.check(start=not found and not seconds))
            outcome = run([sides[name] for name in names])
            seconds |= zip(names, outcome["seconds"], strict=True)
            versions |= dict.fromkeys(names, outcome["versions"])
        found.append(Round(order, seconds, load, versions))
        report(f"round {number + 1}: " + ", ".join(f"{n} {seconds[n]:.3f} s" for n in NAMES))
    return found

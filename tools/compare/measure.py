"""Measure interleaved rounds of A, A again as a control, and B."""

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
"""A' is a second run of A in the same round: the control."""


@dataclass(frozen=True)
class Round:
    """One run of each of A, A' and B.

    Parameters
    ----------
    order
        Order in which they ran.
    seconds
        Seconds of each, by name.
    load
        Load of the machine before the round; if each runs in its own process, before each.
    versions
        Versions of Python, Java and packages, by name.
    """

    order: tuple[str, ...]
    seconds: dict[str, float]
    load: list[Reading]
    versions: dict[str, dict[str, str | None]]


def orders(rounds: int, seed: int) -> list[tuple[str, ...]]:
    """Draw the order of each round; each six rounds have every order once.

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

    If both sides use the same version of the package, all runs of a round share one process, and
    with it the set-up. Otherwise A, A' and B each run in their own process.

    Parameters
    ----------
    first, second
        The sides A and B.
    run
        Function that runs sides in a process, such as `run_cases`.
    guard
        Checks the load of the machine before each process.
    rounds, seed
        Number of rounds, and seed of their orders.
    report
        Function that gets a line of text for each round.

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

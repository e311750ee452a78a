"""Capacities of unequal workers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import NDArray


class Capacities(tuple[float, ...]):
    """Relative capacity of each worker, such as ``"2:1:1"`` or ``(2, 1, 1)``.

    Raises
    ------
    ConfigurationError
        A capacity is not a number above 0.

    Examples
    --------
    >>> Capacities("2:1:1") == (2.0, 1.0, 1.0), str(Capacities([2, 1, 0.5]))
    (True, '2:1:0.5')
    """

    __slots__ = ()

    def __new__(cls, values: str | Iterable[float]) -> Self:
        """Read the capacities from text such as ``2:1:1``, or from numbers."""
        try:
            parts = values.split(":") if isinstance(values, str) else values
            numbers = tuple(float(part) for part in parts)
        except (TypeError, ValueError):
            numbers = ()
        if not numbers or not all(0 < number < math.inf for number in numbers):
            message = (
                f"capacities = {shown(values)}: give one number above 0 per worker, such as 2:1:1 "
                "for three workers of which the first has twice the capacity"
            )
            raise ConfigurationError(message)
        return super().__new__(cls, numbers)

    def __str__(self) -> str:
        """Return the capacities as text, such as ``2:1:1``."""
        return ":".join(f"{number:g}" for number in self)

    def of(self, workers: int) -> NDArray[np.float64]:
        """Return the capacities as an array, float64[W].

        Raises
        ------
        ConfigurationError
            There is not one capacity per worker.
        """
        if len(self) != workers:
            message = (
                f"capacities = {self}: {len(self)} capacities for {workers} workers; "
                "give one per worker"
            )
            raise ConfigurationError(message)
        return np.array(self)

"""Give each rerouted operation a number of tasks that no other one has, to find its stage by."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_taken: set[int] = set()


class TaskNumbers:
    """Numbers of tasks of the operations of one context, all different and all multiples of slots.

    Numbers of all contexts of the process are different, until `release` gives them back.

    Examples
    --------
    >>> one, other = TaskNumbers(), TaskNumbers()
    >>> one.of("a", slots=4, above=4), one.of("b", 4, 4), one.of("a", 4, 4), other.of("a", 4, 4)
    (8, 12, 8, 16)
    >>> one.release()
    >>> other.of("b", slots=4, above=3), other.of("c", 4, 9)
    (4, 12)
    >>> other.release()
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, operation: str, slots: int, above: int) -> int:
        """Return the number of an operation: at first the least free multiple above a number."""
        with _lock:
            if operation not in self._numbers:
                number = (above // slots + 1) * slots
                while number in _taken:
                    number += slots
                self._numbers[operation] = number
                _taken.add(number)
            return self._numbers[operation]

    def release(self) -> None:
        """Give the numbers back, to be taken again."""
        with _lock:
            _taken.difference_update(self._numbers.values())
            self._numbers.clear()

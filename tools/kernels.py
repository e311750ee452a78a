"""Compile the kernels of groupings and aggregators once, instead of in each test process.

``python -m tools.kernels``. Numba caches compiled kernels beside the package's files, and compiles
those that have changed again.
"""

from __future__ import annotations

import evenkey.papers  # noqa: F401 - registers groupings that have kernels too
from evenkey import aggregators, groupings
from evenkey.checks import yield_checks
from evenkey.checks.aggregators import yield_aggregator_checks

_AGGREGATORS = (
    "sum(column=amount)",
    "top-k(k=3)",
    "heavy-hitters(k=3)",
    "histogram(column=amount,bins=100)",
)


def main() -> None:
    """Run the checks that call every kernel; tests report whether the checks pass."""
    for name in groupings.available():
        for _, check in yield_checks(groupings.parse(name)):
            check()
    for spelling in _AGGREGATORS:
        for _, check in yield_aggregator_checks(aggregators.parse(spelling)):
            check()


if __name__ == "__main__":
    main()

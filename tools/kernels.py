"""Compile the kernels of groupings and aggregators, so that not each process of tests does.

``python -m tools.kernels``. Numba keeps what it compiles beside the package's files, and compiles
anew what has changed.
"""

from __future__ import annotations

import evenkey.papers  # noqa: F401 - whose groupings have kernels too
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
    """Run the checks that call every kernel; whether they pass is for tests to say."""
    for name in groupings.available():
        for _, check in yield_checks(groupings.parse(name)):
            check()
    for spelling in _AGGREGATORS:
        for _, check in yield_aggregator_checks(aggregators.parse(spelling)):
            check()


if __name__ == "__main__":
    main()

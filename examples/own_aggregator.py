"""Your own aggregator: a median, which cannot be merged, from a histogram, which can.

python examples/own_aggregator.py
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from evenkey import spark as eks
from evenkey.aggregators import Fold
from evenkey.checks import yield_aggregator_checks
from evenkey.spark import session


@dataclass(frozen=True)
class Median(Fold):
    """The median of a column of positive numbers, within a relative error.

    It counts values in buckets. The upper end of a bucket is 1 + 2 * `error` times the lower end,
    so the middle of a bucket is within `error` of each value in it. The state is bounded: there
    are ``1420 / log(1 + 2 * error)`` buckets for all 64-bit numbers.
    """

    column: str = "value"
    error: float = 0.01

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that is summarized."""
        return (self.column,)

    @property
    def result(self) -> pa.Schema:
        """One number per key."""
        return pa.schema([("median", pa.float64())])

    @property
    def state_type(self) -> str:
        """A state: the number of values in each bucket, by the bucket's number."""
        return "map<bigint,bigint>"

    @property
    def _log(self) -> float:
        return math.log1p(2 * self.error)

    def zero(self) -> Any:
        """Return the state before the first value: no buckets."""
        return Counter()

    def add(self, state: Any, message: tuple[Any, ...]) -> Any:
        """Count a value in its bucket."""
        _, value = message
        if value is not None and value > 0:
            state[math.floor(math.log(value) / self._log)] += 1
        return state

    def combine(self, first: Any, second: Any) -> Any:
        """Add the counts of two states."""
        first.update(second)
        return first

    def answer(self, state: Any) -> dict[str, Any]:
        """Return the middle of the bucket that holds the lower median."""
        left = (state.total() + 1) // 2
        for bucket in sorted(state):
            left -= state[bucket]
            if left <= 0:
                low, high = (math.exp(self._log * end) for end in (bucket, bucket + 1))
                return {"median": 2 * low * high / (low + high)}
        return {"median": None}


def main() -> dict[str, float]:
    """Check the aggregator, then find the median time of each user's requests."""
    for _, check in yield_aggregator_checks(Median()):
        check()
    rows = [("ann" if n % 10 else "bob", float(n % 501 + 1)) for n in range(5000)]
    requests = session().createDataFrame(rows, "user string, value double")
    medians = eks.aggregate(requests, key="user", grouping="dkg", workers=4, aggregator=Median())
    found = {row["user"]: row["median"] for row in medians.collect()}
    for user, median in sorted(found.items()):
        print(f"{user}: about {median:.0f} ms")
    return found


if __name__ == "__main__":
    main()

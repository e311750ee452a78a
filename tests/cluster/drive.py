"""Run one function of `cases` in a session, on a driver's host, and print its result."""

from __future__ import annotations

import json
import sys

from evenkey.spark import session
from tests.cluster import cases


def main() -> None:
    """Run ``drive.py CASE JSON``."""
    name, given = sys.argv[1:]
    spark = session()
    try:
        result = getattr(cases, name)(spark, **json.loads(given))
        print(f"RESULT {json.dumps(result)}", flush=True)  # noqa: T201 - read by the test
    finally:
        spark.stop()


if __name__ == "__main__":
    main()

"""A run over a user's own file that is killed and restarted."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow.dataset as ds
import pytest

from tests.runs.killing import finish, kill_in_the_middle, started

ROWS = 4000
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def sales(tmp_path):
    """Write unordered rows of an hour, one in a hundred without a time; return the true sums."""
    draw = random.Random(5)  # noqa: S311 - rows of a test
    sums: defaultdict[tuple[int, str | None, str], Decimal] = defaultdict(Decimal)
    lines = ["at,shop,item,price"]
    for number in range(ROWS):
        shop = draw.choice(["north", "south", ""])
        item = "hot" if number % 10 < 7 else f"cold {number % 53}"
        second, price = draw.randrange(3600), Decimal(draw.randrange(10_000)) / 100
        at = "" if number % 100 == 50 else (START + timedelta(seconds=second)).isoformat()
        lines.append(f"{at},{shop},{item},{price}")
        if at:
            sums[second // 300, shop or None, item] += price
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, dict(sums)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("grouping", ["dkg", "planned"])
def test_a_killed_run_loses_nothing_of_any_window(sales, tmp_path, grouping):
    path, sums = sales
    output, log = tmp_path / "out", tmp_path / "log"
    command = [
        *("--input", str(path), "--key", "shop,item", "--time", "at", "--grouping", grouping),
        *("--aggregator", "sum(column=price)", "--types", "price decimal(10,2)"),
        *("--aggregator-window", "300", "--output", str(output), "--epochs", "4"),
        *("--workers", "4", "--sources", "3", "--aggregators", "2"),
    ]
    with started([*command, "--cost-ms", "5"], log) as process:
        kill_in_the_middle(process, output, log)
    report = finish([*command, "--cost-ms", "0"])
    bad = ROWS // 100
    assert (report["finished"], report["lines"], report["rejected"]) == (True, ROWS, bad)
    assert report["late"] == 0
    rows = ds.dataset(output / "results", partitioning="hive").to_table().to_pylist()
    found = {
        (
            round((row["window_start"].replace(tzinfo=UTC) - START).total_seconds()) // 300,
            row["shop"],
            row["item"],
        ): row["sum"]
        for row in rows
    }
    assert len(found) == len(rows)
    assert found == sums

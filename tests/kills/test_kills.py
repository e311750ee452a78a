"""Runs that are killed at random, repeatedly, still have exact results."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.kills.play import play
from tests.kills.schedule import KILLS_A_RUN, run_of
from tests.kills.summary import kills_of

pytestmark = [pytest.mark.soak(250), pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("EVENKEY_KILLS", "15"))
SEED = int(os.environ.get("EVENKEY_SEED", "1"))


@pytest.mark.parametrize("number", range(-(-KILLS // KILLS_A_RUN)))
def test_a_killed_run_ends_with_the_counts_of_an_independent_program(number, tmp_path):
    records: list[dict[str, object]] = []
    ended = play(run_of(SEED, number), tmp_path, records.append)
    written = "\n".join(json.dumps(record) for record in [*records, ended])
    assert not ended["faults"], f"{written}\nthis run alone: {ended['repeat']}"
    assert kills_of(records) == ended["kills"] > 0, written
    # Delete successful runs, because Spark's state has many files.
    shutil.rmtree(tmp_path)

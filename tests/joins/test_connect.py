"""Joins over Spark Connect: where the client touches no state, they are what they are elsewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenkey.joins import MODES

_NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")
_HERE = Path(__file__).parents[2]


def _missing():
    for name in _NEEDED:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return name
    return None


pytestmark = pytest.mark.skipif(
    _missing() is not None,
    reason=f"Spark Connect needs {_missing()}: pip install 'pyspark[connect]'",
)


def outcomes(directory, modes):
    """What went wrong in each case, by its name; a process has one kind of session."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.joins.over_connect", str(directory), *modes],
        cwd=_HERE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_HERE / "src"), str(_HERE)])},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line[line.index("{") :] for line in ran.stdout.splitlines() if '"case"' in line]
    assert lines, ran.stderr
    return {each["case"]: each["wrong"] for each in map(json.loads, lines)}


CASES = ["a_batch", "a_batch_without_state", "a_stream", "a_refresh", "a_join_by_space"]


def test_joins_over_connect_equal_sparks_own(tmp_path):
    assert outcomes(tmp_path, ["dynamic-lb-stal"]) == dict.fromkeys(CASES)


@pytest.mark.soak
def test_every_mode_over_connect_equals_sparks_own(tmp_path):
    assert outcomes(tmp_path, MODES) == dict.fromkeys(CASES)

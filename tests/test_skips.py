"""Skipped tests are counted by reason at the end of each test run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises.test_skips import SKIPPED

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("processes", [(), ("--numprocesses", "2")])
def test_each_reason_is_printed_once_with_its_count(tmp_path, processes):
    for name in ("test_one.py", "test_other.py"):
        (tmp_path / name).write_text(SKIPPED)
    options = ["--quiet", "-p", "tests.skips", "-p", "no:cacheprovider", "--rootdir", tmp_path]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *processes, tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("skipped, ")]
    assert sorted(lines) == [
        "skipped, 2 of them: later",
        "skipped, 2 of them: not here",
        "skipped, 2 of them: there are no jars",
    ], ran.stdout + ran.stderr


def test_all_tests_use_the_plugin(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("tests.skips")

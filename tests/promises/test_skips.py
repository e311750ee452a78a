"""A skipped promise is a failure if promises are required, whatever skips it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = """
import pytest

@pytest.fixture
def component():
    pytest.skip("there are no jars")

def test_that_needs_a_component(component):
    pass

@pytest.mark.skip(reason="later")
def test_that_is_marked():
    pass

def test_that_skips_itself():
    pytest.skip("not here")
"""


@pytest.mark.parametrize(
    ("required", "ends_with", "counted"),
    [("kafka", 0, "3 skipped"), ("kafka, promises", 1, "1 failed")],
)
def test_a_skipped_promise_fails_where_promises_are_required(
    tmp_path, required, ends_with, counted
):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_one.py").write_text(SKIPPED)
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rs",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            tmp_path,
            tmp_path,
        ],
        env={**os.environ, "EVENKEY_REQUIRE": required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == ends_with, ran.stdout
    assert "there are no jars" in ran.stdout
    assert counted in ran.stdout
    assert "passed" not in ran.stdout

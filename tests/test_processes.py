"""The processes of a run are found and ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import end_session, freeze, members, thaw

PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def parent():
    """Start a process in its own session, with a child in another process group."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    end_session(process.pid)
    process.communicate()


def test_children_that_left_the_process_group_are_found_and_ended(parent):
    child = int(parent.stdout.readline())
    assert sorted(each.pid for each in members(parent.pid)) == sorted([parent.pid, child])
    assert end_session(parent.pid) == 2
    assert members(parent.pid) == []
    assert end_session(parent.pid) == 0


def test_a_frozen_session_stands_still_until_it_is_thawed(parent):
    parent.stdout.readline()
    freeze(parent.pid)
    assert {each.state for each in members(parent.pid)} == {"T"}
    thaw(parent.pid)
    assert "T" not in {each.state for each in members(parent.pid)}
    freeze(parent.pid)
    assert end_session(parent.pid) == 2

"""Runs write checkpoints on local disks without asking a program about each file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evenkey.spark.sessions import fewer_processes

if TYPE_CHECKING:
    from pathlib import Path

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"


@pytest.fixture
def own(spark):
    """Make a session without the manager that the session of the tests has."""
    session = spark.newSession()
    session.conf.unset(MANAGER)
    return session


@pytest.mark.parametrize("checkpoint", ["/a/b", "file:/a/b", "file:///a/b"])
def test_the_manager_of_local_checkpoints_lasts_while_a_query_starts(own, checkpoint):
    with fewer_processes(own, checkpoint):
        assert own.conf.get(MANAGER).endswith(".FileSystemBasedCheckpointFileManager")
    assert own.conf.get(MANAGER, None) is None


def test_other_file_systems_keep_sparks_manager(own):
    with fewer_processes(own, "s3a://bucket/a"):
        assert own.conf.get(MANAGER, None) is None
    own.conf.set("fs.defaultFS", "hdfs://name/")
    with fewer_processes(own, "/a/b"):
        assert own.conf.get(MANAGER, None) is None


def test_the_users_manager_stays(own):
    own.conf.set(MANAGER, "a.Manager")
    with fewer_processes(own, "/a/b"):
        assert own.conf.get(MANAGER) == "a.Manager"
    assert own.conf.get(MANAGER) == "a.Manager"


@pytest.mark.soak(25)
def test_a_run_starts_no_process_for_each_file_of_its_checkpoint(tmp_path: Path) -> None:
    real = shutil.which("readlink")
    log, programs = tmp_path / "log", tmp_path / "programs"
    programs.mkdir()
    (programs / "readlink").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    (programs / "readlink").chmod(0o755)
    command = [sys.executable, "-m", "evenkey", "run", "--dataset", "country-skew-r80"]
    options = {"messages": 1000, "epoch-messages": 500, "workers": 2, "output": tmp_path / "out"}
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, check=True)
    assert not log.exists() or str(tmp_path / "out") not in log.read_text()

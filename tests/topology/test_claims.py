"""An output belongs to one process at a time, and a late one finds that it does no more."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenkey.errors import ConfigurationError, RunError
from evenkey.runs.claims import Claim, Holder

CLAIMS = "claims"


def claim(tmp_path, patience=10.0):
    return Claim(tmp_path, tmp_path / CLAIMS, patience=patience)


def left_behind(tmp_path, **changes):
    """The claim of a process that never released it."""
    (tmp_path / CLAIMS).mkdir()
    holder = {**dataclasses.asdict(Holder.here()), **changes}
    (tmp_path / CLAIMS / "00000001.json").write_text(json.dumps(holder))
    beat = tmp_path / CLAIMS / "00000001.beat"
    beat.touch()
    return beat


@pytest.fixture
def no_locks(monkeypatch):
    """A file system that refuses every lock."""

    def refused(*_):
        raise OSError

    monkeypatch.setattr("fcntl.flock", refused)
    monkeypatch.setattr("fcntl.lockf", refused)


@pytest.mark.usefixtures("no_locks")
def test_a_second_process_is_refused_while_the_first_lives(tmp_path):
    first = claim(tmp_path)
    wanted = rf"is in use by process {os.getpid()} on .* since .*: wait until it has ended, end it"
    with pytest.raises(ConfigurationError, match=wanted):
        claim(tmp_path)
    first.check()
    first.release()
    second = claim(tmp_path)
    assert (first.number, second.number) == (1, 2)
    second.release()


def test_of_many_at_once_one_gets_it(tmp_path):
    for _ in range(3):
        ready = threading.Barrier(8)

        def one(ready=ready):
            ready.wait()
            try:
                return claim(tmp_path)
            except ConfigurationError:
                return None

        with ThreadPoolExecutor(8) as pool:
            got = [each.result() for each in [pool.submit(one) for _ in range(8)]]
        (held,) = filter(None, got)
        held.check()
        held.release()


@pytest.mark.parametrize("changes", [{"pid": 2**22 + 1}, {"started": 1}])
def test_what_a_dead_process_held_is_free_at_once(tmp_path, changes):
    left_behind(tmp_path, **changes)
    # It would take until tomorrow to wait for a sign of life.
    taken = claim(tmp_path, patience=86_400)
    assert taken.number == 2
    taken.release()


def test_a_zombie_is_dead(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    left_behind(tmp_path, pid=process.pid, started=_started(process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    claim(tmp_path, patience=86_400).release()
    process.communicate()


def _started(pid):
    from evenkey.runs.claims import _started

    return _started(pid)


def test_of_another_machine_a_sign_of_life_is_awaited(tmp_path):
    beat = left_behind(tmp_path, host="elsewhere", place="another boot")
    stop = threading.Event()

    def live():
        while not stop.wait(0.05):
            os.utime(beat)

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with pytest.raises(ConfigurationError, match=r"in use by process .* on elsewhere"):
            claim(tmp_path)
    finally:
        stop.set()
        thread.join()
    claim(tmp_path, patience=0.3).release()


def test_who_has_lost_its_claim_finds_out(tmp_path, monkeypatch):
    monkeypatch.setattr("evenkey.runs.claims._BEAT_SECONDS", 3600)
    hung = claim(tmp_path)
    other = claim(tmp_path, patience=0.3)
    assert other.held
    assert not hung.held
    with pytest.raises(RunError, match=r"now belongs to process .*, so there is nothing to do"):
        hung.check()
    other.check()
    hung.release()
    other.release()


def test_the_signs_of_claims_are_their_own(tmp_path):
    first = claim(tmp_path)
    first.sign("closing").touch()
    first.release()
    second = claim(tmp_path)
    assert not second.sign("closing").exists()
    second.release()


def test_old_claims_are_forgotten_but_no_number_is_given_twice(tmp_path):
    numbers = []
    for _ in range(5):
        held = claim(tmp_path)
        numbers.append(held.number)
        held.release()
    assert numbers == [1, 2, 3, 4, 5]
    kept = {file.name.split(".")[0] for file in (tmp_path / CLAIMS).iterdir()}
    assert kept == {"00000004", "00000005"}


def test_a_damaged_claim_is_named(tmp_path):
    left_behind(tmp_path)
    (tmp_path / CLAIMS / "00000001.json").write_text("{")
    with pytest.raises(RunError, match=r"00000001\.json cannot be read .*: choose another output"):
        claim(tmp_path)


@pytest.mark.usefixtures("no_locks")
def test_a_stopped_process_loses_its_claim_and_says_so_when_it_wakes_up(tmp_path):
    program = (
        "import pathlib, sys\n"
        "from evenkey.runs.claims import Claim\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "held = Claim(root, root / 'claims')\n"
        "print('held', flush=True)\n"
        "input()\n"
        "held.check()\n"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(ConfigurationError, match=f"process {process.pid}"):
            claim(tmp_path)
        process.send_signal(signal.SIGSTOP)
        taken = claim(tmp_path, patience=2.0)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate("\n")
    assert process.returncode == 1
    assert "now belongs to process" in errors
    taken.check()
    taken.release()

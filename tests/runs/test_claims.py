"""An output belongs to one process at a time, and a late process detects that it lost it."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.pipeline.runs.output.claims import CLAIMS, Claim, Holder
from tests.stores.far import STORES, FarStore


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return STORES[request.param](tmp_path)


def claim(store, patience=10.0):
    return Claim(store, patience=patience)


def left_behind(store, **changes):
    """Create the claim of a process that never released it; return its heartbeat."""
    holder = {**dataclasses.asdict(Holder.here()), **changes}
    store.put(f"{CLAIMS}/00000001.json", json.dumps(holder).encode())
    numbers = itertools.count()

    def beat():
        store.put(f"{CLAIMS}/00000001.beat", f"{next(numbers)}".encode())

    beat()
    return beat


@pytest.fixture
def no_locks(monkeypatch):
    """Make the file system reject every lock."""

    def refused(*_):
        raise OSError

    monkeypatch.setattr("fcntl.flock", refused)
    monkeypatch.setattr("fcntl.lockf", refused)


@pytest.mark.usefixtures("no_locks")
def test_a_second_process_is_rejected_while_the_first_lives(store):
    first = claim(store)
    wanted = rf"is in use by process {os.getpid()} on .* since .*: wait until it has ended, end it"
    with pytest.raises(ConfigurationError, match=wanted):
        claim(store)
    first.check()
    first.release()
    second = claim(store)
    assert (first.number, second.number) == (1, 2)
    second.release()


@pytest.mark.slow(1)
def test_one_of_many_concurrent_processes_gets_it(store):
    for _ in range(3):
        ready = threading.Barrier(8)

        def one(ready=ready):
            ready.wait()
            try:
                return claim(store)
            except ConfigurationError:
                return None

        with ThreadPoolExecutor(8) as pool:
            got = [each.result() for each in [pool.submit(one) for _ in range(8)]]
        (held,) = filter(None, got)
        held.check()
        held.release()


@pytest.mark.parametrize("changes", [{"pid": 2**22 + 1}, {"started": 1}])
def test_the_output_of_a_dead_process_is_free_immediately(store, changes):
    left_behind(store, **changes)
    # If the run waited for a heartbeat, it would wait for a day.
    taken = claim(store, patience=86_400)
    assert taken.number == 2
    taken.release()


def test_a_zombie_is_dead(store):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    left_behind(store, pid=process.pid, started=_started(process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    claim(store, patience=86_400).release()
    process.communicate()


def _started(pid):
    from evenkey.pipeline.runs.output.claims import _started

    return _started(pid)


def test_a_heartbeat_of_another_machine_is_awaited(store):
    beat = left_behind(store, host="elsewhere", place="another boot")
    stop = threading.Event()

    def live():
        while not stop.wait(0.05):
            beat()

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with pytest.raises(ConfigurationError, match=r"in use by process .* on elsewhere"):
            claim(store)
    finally:
        stop.set()
        thread.join()
    claim(store, patience=0.3).release()


def test_a_process_detects_that_it_lost_its_claim(store, monkeypatch):
    monkeypatch.setattr("evenkey.pipeline.runs.output.claims._BEAT_SECONDS", 3600)
    hung = claim(store)
    other = claim(store, patience=0.3)
    assert other.held
    assert not hung.held
    with pytest.raises(RunError, match=r"now belongs to process .*, so there is nothing to do"):
        hung.check()
    other.check()
    hung.release()
    other.release()


def test_old_claims_are_deleted_but_no_number_is_reused(store):
    numbers = []
    for _ in range(5):
        held = claim(store)
        numbers.append(held.number)
        held.release()
    assert numbers == [1, 2, 3, 4, 5]
    kept = {name.removeprefix(f"{CLAIMS}/").split(".")[0] for name in store.names(CLAIMS)}
    assert kept == {"00000004", "00000005"}


def test_a_damaged_claim_is_named(store):
    left_behind(store)
    store.put(f"{CLAIMS}/00000001.json", b"{")
    with pytest.raises(RunError, match=r"00000001\.json cannot be read .*: choose another output"):
        claim(store)


@pytest.mark.slow(3)
@pytest.mark.usefixtures("no_locks")
def test_a_stopped_process_loses_its_claim_and_reports_it_when_it_wakes_up(tmp_path):
    store = STORES["a directory"](tmp_path)
    program = (
        "import sys\n"
        "from evenkey.pipeline.runs.output.claims import Claim\n"
        "from evenkey.core.stores import LocalStore\n"
        "held = Claim(LocalStore(sys.argv[1]))\n"
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
            claim(store)
        process.send_signal(signal.SIGSTOP)
        taken = claim(store, patience=2.0)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate("\n")
    assert process.returncode == 1
    assert "now belongs to process" in errors
    taken.check()
    taken.release()


def test_a_process_with_slow_heartbeats_keeps_its_claim(tmp_path, monkeypatch):
    """A slow store is also slow for the waiting process."""
    monkeypatch.setattr("evenkey.pipeline.runs.output.claims._BEAT_SECONDS", 0.2)
    slow = FarStore(tmp_path, delay=0.1)
    first = claim(slow)
    with pytest.raises(ConfigurationError, match="is in use by process"):
        claim(slow, patience=0.0)
    first.release()


def test_a_claim_survives_an_unreachable_store(tmp_path, monkeypatch):
    monkeypatch.setattr("evenkey.pipeline.runs.output.claims._BEAT_SECONDS", 0.01)
    store = FarStore(tmp_path)
    held = claim(store)
    away = threading.Event()

    def put(*_, **__):
        away.set()
        raise OSError

    with monkeypatch.context() as gone:
        gone.setattr(store, "put", put)
        assert away.wait(240)
    before = store.read(f"{CLAIMS}/00000001.beat")
    for _ in range(1000):
        if store.read(f"{CLAIMS}/00000001.beat") != before:
            break
        threading.Event().wait(0.01)
    else:
        pytest.fail("it writes no more heartbeats")
    held.check()
    held.release()


def test_a_deleted_output_is_not_created_again(tmp_path, monkeypatch):
    monkeypatch.setattr("evenkey.pipeline.runs.output.claims._BEAT_SECONDS", 0.01)
    store = FarStore(tmp_path)
    held = claim(store)
    for name in store.names():
        store.delete(name)
    threading.Event().wait(0.1)
    # A heartbeat that has begun may still be written.
    assert store.names() in ([], [f"{CLAIMS}/00000001.beat"])
    with pytest.raises(RunError, match="is gone: it was deleted"):
        held.check()
    held.release()

"""The program that compares commits: its statistics, when it refuses, and what it stores."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import cases
from tools.compare import __main__ as program
from tools.compare.case import Case
from tools.compare.load import Guard, LoadedError, Reading, read_load
from tools.compare.measure import NAMES, measure, orders
from tools.compare.record import hardware
from tools.compare.sides import Side, Source, source_of
from tools.compare.verdict import judge

ROOT = Path(__file__).parents[2]
IDLE, BUSY = Reading(0.1, 0.01), Reading(0.1, 0.6)
TINY = """
def one(add=0):
    import evenkey
    yield lambda: 1.0 + add
"""


def test_make_passes_the_options_of_a_case_without_quotes(tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "ready").touch()
    what = "--commit . -- command(messages=2000) *"
    given = [f"BIN={tmp_path}", f"READY={tmp_path / 'ready'}", f"WHAT={what}"]
    make = ["make", "--no-print-directory", "compare", *given]
    made = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["-m", "tools.compare", *what.split()]


@pytest.mark.parametrize(
    ("second", "outcome"),
    [
        ([1.9, 2.0, 2.1], "no difference"),
        ([2.3, 2.4, 2.6], "slower"),
        ([2.1, 2.4, 2.6], "no difference"),  # one round is within the noise
        ([1.5, 1.6, 1.7], "faster"),
        ([1.5, 1.6, 1.9], "no difference"),
    ],
)
def test_a_difference_must_exceed_the_noise_in_every_round(second, outcome):
    verdict = judge([2.0, 2.0, 2.0], [1.9, 2.0, 2.2], second)
    assert (verdict.noise.least, verdict.noise.most) == (0.95, 1.1)
    assert verdict.outcome == outcome


def test_ratios_are_those_of_each_round():
    """In the second round the machine was half as fast, for both sides alike."""
    verdict = judge([1.0, 2.0, 1.0], [1.0, 2.0, 1.0], [1.5, 3.0, 1.5])
    assert (verdict.ratio.least, verdict.ratio.middle, verdict.ratio.most) == (1.5, 1.5, 1.5)
    assert str(verdict) == "B is 1.50x A (1.50 to 1.50 over 3 rounds; noise 1.00 to 1.00): slower"


def test_noise_includes_1_where_the_control_is_slower_by_chance():
    verdict = judge([1.0, 1.0, 1.0], [1.1, 1.2, 1.3], [1.0, 1.05, 1.09])
    assert (verdict.noise.least, verdict.noise.most, verdict.outcome) == (1.0, 1.3, "no difference")


def test_every_six_rounds_each_order_comes_once():
    drawn = orders(12, seed=3)
    assert len({*drawn[:6]}) == len({*drawn[6:]}) == 6
    assert all(sorted(order) == sorted(NAMES) for order in drawn)
    assert drawn == orders(12, seed=3) != orders(12, seed=4)


@pytest.mark.parametrize(
    ("reading", "start"), [(BUSY, False), (BUSY, True), (Reading(0.9, 0.0), True)]
)
def test_a_loaded_machine_is_refused(reading, start):
    with pytest.raises(LoadedError, match=r"the machine is loaded: .* --loaded"):
        Guard(0, read=lambda: reading).check(start=start)
    assert Guard(0, loaded=True, read=lambda: reading).check(start=start) == reading


def test_the_load_average_counts_at_the_start_only():
    """Later, the load average contains the load of the measurement itself."""
    after_a_round = Reading(0.9, 0.0)
    assert Guard(0, read=lambda: after_a_round).check() == after_a_round


def test_a_machine_that_becomes_idle_is_waited_for():
    readings = iter([BUSY, BUSY, IDLE])
    assert Guard(60, read=lambda: next(readings)).check() == IDLE


def test_a_machine_that_becomes_loaded_between_rounds_is_refused(tmp_path):
    readings = iter([IDLE, IDLE, BUSY])
    side = Side(Source(tmp_path, "a", dirty=False), Case("one.py", "one"))

    def run(sides):
        return {"seconds": [1.0 for _ in sides], "versions": {}}

    with pytest.raises(LoadedError):
        measure(
            side,
            side,
            run,
            Guard(0, read=lambda: next(readings)),
            rounds=3,
            seed=1,
            report=print,
        )
    assert next(readings, None) is None


def test_two_versions_run_in_a_process_each_and_one_version_shares_it(tmp_path):
    case = Case("one.py", "one")
    first, second = (Side(Source(tmp_path, name, dirty=False), case) for name in "ab")
    asked: list[int] = []

    def run(sides):
        asked.append(len(sides))
        return {"seconds": [1.0 for _ in sides], "versions": {}}

    guard = Guard(0, read=lambda: IDLE)
    for other in (second, first):
        rounds = measure(first, other, run, guard, rounds=3, seed=1, report=print)
        assert all({*each.seconds} == {*NAMES} for each in rounds)
    assert asked == [1] * 9 + [3] * 3


def test_the_machine_is_read():
    reading = read_load(0.05)
    assert reading.load >= 0
    assert reading.use is None or 0 <= reading.use <= 1
    assert {"cores", "memory", "processor", "system"} == {*hardware()}


@pytest.mark.parametrize("text", ["", "a b", "f(", "f(1)", "f(a=b+c)", "f(a=1).b", "one.py:"])
def test_functions_that_are_no_case_are_refused(text):
    with pytest.raises(ValueError, match="write NAME"):
        Case.parse(text)


def test_a_whole_run_is_stored(tmp_path, capfd):
    """Two cases run in real processes; the second reports half a second more."""
    (tmp_path / "tiny.py").write_text(TINY)
    output = tmp_path / "result.json"
    ways = [f"{tmp_path}/tiny.py:one", f"{tmp_path}/tiny.py:one(add=0.5)"]
    code = program.main(
        ["--rounds", "3", "--output", str(output), "--", *ways], Guard(0, read=lambda: IDLE)
    )
    assert code == 0
    line = "B is 1.50x A (1.50 to 1.50 over 3 rounds; noise 1.00 to 1.00): slower"
    assert capfd.readouterr().out == f"{line}\n{output}\n"
    stored = json.loads(output.read_text("utf-8"))
    assert stored["verdict"] == line
    assert stored["command"].startswith("python -m tools.compare --rounds 3")
    assert stored["loaded"] is False
    assert stored["ratio"] == {"middle": 1.5, "least": 1.5, "most": 1.5}
    assert stored["sides"]["B"]["case"]["options"] == {"add": 0.5}
    for side in stored["sides"].values():
        assert side["commit"] == source_of(ROOT).commit
        assert isinstance(side["dirty"], bool)
        assert {"python", "java", "pyspark", "numpy"} < {*side["versions"]}
    assert [each["seconds"] for each in stored["rounds"]] == [{"A": 1, "A'": 1, "B": 1.5}] * 3
    assert stored["rounds"][0]["load"] == [{"load": 0.1, "use": 0.01}]
    assert {"cores", "memory", "processor"} < {*stored["hardware"]}


def test_a_loaded_machine_ends_the_program(tmp_path, capfd):
    (tmp_path / "tiny.py").write_text(TINY)
    output = tmp_path / "result.json"
    way = f"{tmp_path}/tiny.py:one"
    assert program.main(["--output", str(output), "--", way, way], Guard(0, read=lambda: BUSY)) == 2
    assert capfd.readouterr().err.startswith("error: the machine is loaded")
    assert not output.exists()


@pytest.mark.parametrize("given", [["one"], ["--commit", "HEAD", "one"], ["one", "two", "three"]])
def test_exactly_two_are_compared(given, capsys):
    with pytest.raises(SystemExit):
        program.main(given)
    assert "two commits and one case, or two cases" in capsys.readouterr().err


def test_a_commit_is_unpacked_with_its_own_sources(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", *identity, *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    module = tmp_path / "src" / "evenkey" / "__init__.py"
    module.parent.mkdir(parents=True)
    git("init")
    for text in ("first", "second"):
        module.write_text(text)
        git("add", ".")
        git("commit", "-m", text)
    module.write_text("third")
    old, new, now = source_of(tmp_path, "HEAD~1"), source_of(tmp_path, "HEAD"), source_of(tmp_path)
    texts = [(each.directory / "evenkey/__init__.py").read_text() for each in (old, new, now)]
    assert texts == ["first", "second", "third"]
    assert [each.dirty for each in (old, new, now)] == [False, False, True]
    assert old.commit != new.commit == now.commit
    assert source_of(tmp_path, "HEAD~1") == old
    with pytest.raises(ValueError, match="git rev-parse"):
        source_of(tmp_path, "nothing")


@pytest.mark.soak(23)
def test_cases_move_all_rows(spark, monkeypatch):
    """Each case runs on a few rows, in the session that all tests share."""
    del spark
    rows = []
    monkeypatch.setattr(cases, "thrown_away", lambda df: rows.append(df.count()))
    names = ["repartition", "route_and_place", "hash_and_place", "hash_in_python_and_place"]
    names += ["partition_for_write", "join_full"]
    for name in names:
        case = Case.parse(name)
        for run in getattr(cases, case.name)(rows=500, **case.options):
            run()
    cases.keyed(500).unpersist()
    assert rows == [500] * len(names)

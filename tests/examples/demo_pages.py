"""The page of the demo, for jobs that did not run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from evenkey.reports.diagnosis import diagnose
from tests.diagnosis.writing import Log, applied

PROGRAM = Path(__file__).parents[2] / "examples" / "demo.py"
_LATER_SECONDS = 20


def program():
    """Import the demo."""
    spec = importlib.util.spec_from_file_location("demo", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    sys.modules["demo"] = demo  # where dataclasses look up their types
    spec.loader.exec_module(demo)
    return demo


def write_demo(folder, cores):
    """Write the page into a folder, and return its path."""
    demo, events = program(), folder / "events"
    events.mkdir()
    comparisons = []
    for name, slots, seconds in (("rows wait", 8, 1.25), ("rows compute", cores, 10.0 / cores)):
        write_log(events / name, name, slots, seconds)
        scores = {"ann": 11_994, **{f"user {number}": 900 - number for number in range(499)}}
        slow = demo.Job(1.0, 8.2, scores)
        fast = demo.Job(1.0 + _LATER_SECONDS, seconds + 0.4, scores)
        comparisons.append(demo.Comparison(name, 5_000, slots, slow, fast))
    return demo.write_page(comparisons, diagnose(events), folder / "demo.html")


def write_log(file, name, slots, seconds):
    """Write the log of a skewed job, which begins at second 1, and of a balanced one."""
    log = Log(name, slots=slots)
    log.execution(0, applied())
    log.stage(0, [4_000, *[143] * 7], [8.0, *[0.3] * 7])
    skewed = len(log.events)
    log.execution(1, applied())
    log.stage(1, [5_000 // slots] * slots, [seconds] * slots)
    for each in log.events[skewed:]:
        if "Task Info" in each:
            for instant in ("Launch Time", "Finish Time"):
                each["Task Info"][instant] += 1000 * _LATER_SECONDS
    log.write(file)

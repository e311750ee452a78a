"""Recordings of terminals: every state of a line, with the second in which it was shown."""

from __future__ import annotations

import re
import sys

import pytest

from tools.recordings import COMMANDS, Screen, main, record

PROGRAM = """
import shutil, sys, time
assert sys.stdout.isatty() and sys.stderr.isatty()
for step in (1, 2):
    print(f"\\r\\x1b[2Kstep {step}", end="", flush=True)
    time.sleep(0.3)
print(f"\\r\\x1b[2K{shutil.get_terminal_size().columns} columns, ü", file=sys.stderr)
sys.exit(3)
"""


def test_each_state_of_a_line_is_recorded_with_its_time(tmp_path):
    file = tmp_path / "recordings" / "one.txt"
    assert record([sys.executable, "-c", PROGRAM], file, columns=77) == 3
    text = file.read_text("utf-8").partition("sys.exit(3)\n")[2]
    lines = re.findall(r"^ *(\d+\.\d\d)  (.*)$", text, re.MULTILINE)
    assert [line for _, line in lines] == ["step 1", "step 2", "77 columns, ü", "exit code 3"]
    times = [float(seconds) for seconds, _ in lines]
    assert times == sorted(times)
    assert times[1] - times[0] >= 0.2


def test_a_command_that_is_cut_by_a_read_is_still_one():
    screen = Screen()
    assert screen.write("bar\x1b[") == ["bar"]
    assert screen.write("2K\rnext") == ["next"]


def test_the_commands_are_those_that_users_meet(capsys):
    first = {text.split()[0] for text in COMMANDS.values() if text}
    assert {"run", "compare", "simulate", "advise", "diagnose", "join"} == first
    with pytest.raises(SystemExit):
        main(["rnu"])
    assert "no recording 'rnu'" in capsys.readouterr().err

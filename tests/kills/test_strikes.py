"""Faults in how a process reports that it could not continue, without Spark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.kills.living import Living
from tests.kills.strikes import not_one_line

if TYPE_CHECKING:
    from pathlib import Path

_CLEAR = "import sys; sys.exit('error: the disk is full: free it')"


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (_CLEAR, None),
        ("import sys; sys.exit(1)", "0 lines of error, not one"),
        ("import sys; sys.exit('error: once\\nerror: twice')", "2 lines of error, not one"),
        ("import sys; sys.stderr.write('error: a\\n'); 1 / 0", "a trace on standard error"),
    ],
)
def test_a_process_has_to_say_in_one_line_why_it_ended(
    program: str, fault: str | None, tmp_path: Path
) -> None:
    living = Living([sys.executable, "-c", program], tmp_path, tmp_path / "process")
    assert living.wait() == 1
    said = not_one_line(living)
    assert [each.partition(":")[0] for each in said] == ([] if fault is None else [fault])

"""Pytest plugin: after the tests, print why some were skipped, one line per reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["pytest_terminal_summary", "skip_lines"]

_PREFIX = "Skipped: "


def skip_lines(reasons: Iterable[str]) -> list[str]:
    """Return a line for each reason, with the number of tests that were skipped for it.

    Examples
    --------
    >>> skip_lines(["Skipped: kafka is missing", "no root", "Skipped: kafka is missing"])
    ['skipped, 2 of them: kafka is missing', 'skipped, 1 of them: no root']
    """
    counts = Counter(" ".join(each.removeprefix(_PREFIX).split()) for each in reasons)
    return [f"skipped, {count} of them: {reason}" for reason, count in counts.most_common()]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the reasons, also with ``--quiet`` and with several test processes."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = [
        each.longrepr[-1] if isinstance(each.longrepr, tuple) else str(each.longrepr)
        for each in reports
    ]
    for line in skip_lines(reasons):
        terminalreporter.write_line(line)

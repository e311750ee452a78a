"""A table that all benchmarks print at the end: each figure beside its target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

collect_ignore = ["unchanged"]
"""Jobs that run when they are imported."""
FIGURES = pytest.StashKey[list[tuple[str, str, str]]]()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Return a function that adds a row to the table: what was measured, the figure, its target."""
    figures = request.config.stash.setdefault(FIGURES, [])
    return lambda what, figure, target: figures.append((what, figure, target))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    figures = config.stash.get(FIGURES, [])
    if not figures:
        return
    rows = [("measured", "figure", "target"), *figures]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    terminalreporter.write_line("")
    for what, figure, target in rows:
        terminalreporter.write_line(
            f"{what:<{widths[0]}}  {figure:>{widths[1]}}  {target:>{widths[2]}}"
        )

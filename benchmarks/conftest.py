"""What all benchmarks share: a table at the end that sets figures beside their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FIGURES = pytest.StashKey[list[tuple[str, str, str]]]()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Takes what was measured, the figure and its target, for the table at the end."""
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

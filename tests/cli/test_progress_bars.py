"""Progress bars on a terminal."""

from __future__ import annotations

import pytest

from evenkey.cli.progress_bars import shown_progress
from evenkey.pipeline.runs import EpochProgress


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def test_each_grouping_keeps_a_bar_with_its_last_figures(capsys):
    with shown_progress() as show:
        for grouping in ("kg", "dkg(variant=reference,warm_up=5)"):
            show(EpochProgress(grouping, -1, 0, None, 0.0, 0.0, "warming up"))
            show(EpochProgress(grouping, 0, 25_000, 50_000, 1.32, 4321.0, "running"))
            show(EpochProgress(grouping, 1, 50_000, 50_000, 1.32, 1.0, "closing"))
    printed = capsys.readouterr()
    assert printed.out == ""
    *_, first, second, _cursor = printed.err.splitlines()
    assert all("epoch 0" in line and "4,321/s" in line for line in (first, second))
    assert "kg" in first
    assert "dkg(variant=" in second


def test_lines_replace_bars_where_results_are_printed(capsys):
    with shown_progress(live=False) as show:
        show(EpochProgress("kg", 0, 60, 50, 1.32, 4321.0, "running"))
    assert "epoch 0, 60 messages, max/mean 1.32" in capsys.readouterr().err


WAITS = ": transaction 'orders-3', open for 84 s, holds up topic 'clicks'"


@pytest.mark.parametrize("live", [True, False])
def test_a_topic_shows_the_share_read_and_what_it_waits_for(capsys, live):
    with shown_progress(live=live) as show:
        show(EpochProgress("kg", 0, 60, None, 1.32, 4321.0, "running", share=0.25))
        show(EpochProgress("kg", 0, 60, None, 0.0, 0.0, "waiting for a transaction", 0.25, WAITS))
    printed = capsys.readouterr().err
    assert f"kg: waiting for a transaction{WAITS}" in printed
    if not live:
        assert "epoch 0, 60 messages (25% of the topic read), max/mean 1.32" in printed

"""Progress: bars on a terminal, lines elsewhere, and the times that both show."""

from __future__ import annotations

import contextlib
import re

import pytest
from rich.console import Console

from evenkey.cli import progress_bars
from evenkey.cli.progress_bars import message_bar, shown_progress, shown_step, step_bar
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.runs import EpochProgress


class Clock:
    """A clock that a test sets."""

    seconds = 0.0

    def monotonic(self):
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress_bars, "time", made)
    return made


@pytest.fixture
def terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(progress_bars, "_draws", lambda console: console.is_interactive)

    def shown(*, raw=False):
        printed = capsys.readouterr().err
        return printed if raw else re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed)

    return shown


def running(grouping, epoch=0, messages=25_000, expected=50_000, **given):
    return EpochProgress(grouping, epoch, messages, expected, 1.3162, 4321.0, "running", **given)


def in_phase(grouping, phase, **given):
    return EpochProgress(grouping, -1, 0, None, 0.0, 0.0, phase, **given)


def test_each_grouping_keeps_a_bar_with_its_last_figures(terminal):
    with shown_progress() as show:
        for grouping in ("kg", "dkg(variant=reference,warm_up=5)"):
            show(in_phase(grouping, "warming up"))
            show(running(grouping))
            show(in_phase(grouping, "closing"))
    *_, first, second = terminal().splitlines()
    assert all("epoch 0" in line and "4,321/s" in line for line in (first, second))
    assert first.startswith("kg ")
    assert second.startswith("dkg(variant=")
    assert max(len(first), len(second)) <= 80


def test_a_bar_names_the_step_from_the_start_and_the_times(terminal, clock):
    with shown_progress() as show:
        first = terminal()
        clock.seconds = 3
        show(in_phase("dkg", "starting Spark"))
        clock.seconds = 9
        show(running("dkg", messages=10_000))
        clock.seconds = 12
    assert first.strip().endswith("starting  0:00")
    shown = terminal()
    assert "starting Spark  0:03" in shown
    # 40,000 messages at 4,321/s.
    assert "10,000 messages  max/mean 1.316  4,321/s  0:09  0:09 left" in shown
    assert shown.rstrip().endswith("4,321/s  0:12")


def test_a_long_name_leaves_space_for_the_times(terminal):
    with shown_progress() as show:
        show(running("spis dynamic-lb-stal", epoch=120))
        shown = terminal()
    assert "spis dynamic-lb-stal ━" in shown
    assert "epoch 120  max/mean 1.316  4,321/s  0:00  0:06 left" in shown


def test_a_step_without_figures_leaves_nothing_on_the_terminal(terminal):
    with shown_progress() as show:
        show(in_phase("dkg", "starting Spark"))
        assert "starting Spark" in terminal()
    # The last frame is erased: the cursor goes up, and the line is cleared.
    assert terminal(raw=True).endswith("\x1b[1A\x1b[2K")


def test_lines_replace_bars_where_results_are_printed(capsys):
    with shown_progress(live=False) as show:
        show(running("kg", messages=60, expected=50))
    assert "epoch 0, 60 messages, max/mean 1.316" in capsys.readouterr().err


def test_colours_without_a_terminal_are_no_reason_for_bars(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress() as show:
        show(running("kg"))
    assert capsys.readouterr().err.startswith("kg: epoch 0, 25,000 of 50,000 messages")


def test_lines_name_each_step_and_then_come_every_five_seconds(capsys, clock):
    with shown_progress() as show:
        show(in_phase("kg", "starting Spark"))
        for epoch in range(12):
            clock.seconds = 10.0 + epoch
            show(running("kg", epoch, 1000 * epoch, 12_000))
        show(in_phase("kg", "closing"))
        show(in_phase("pkg", "starting Spark"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(", ")[0] for line in lines] == [
        *("kg: starting Spark", "kg: epoch 0", "kg: epoch 5", "kg: epoch 10", "kg: closing"),
        "pkg: starting Spark",
    ]
    assert lines[2].endswith("5,000 of 12,000 messages, max/mean 1.316, 4,321/s, 0:15, 0:02 left")
    assert lines[-1].endswith("starting Spark, 0:00")


def test_a_step_that_may_end_with_an_error_has_no_line(capsys):
    with shown_progress() as show:
        show(in_phase("kg", "finding the input"))
        assert capsys.readouterr().err == ""
        show(in_phase("kg", "starting Spark"))
    assert capsys.readouterr().err == "kg: starting Spark, 0:00\n"


WAITS = ": transaction 'orders-3', open for 84 s, holds up topic 'clicks'"


@pytest.mark.parametrize("live", [True, False])
def test_a_topic_shows_the_share_read_and_what_it_waits_for(terminal, live):
    with shown_progress(live=live) as show:
        show(running("kg", messages=60, expected=None, share=0.25))
        show(in_phase("kg", "waiting for a transaction", share=0.25, detail=WAITS))
    printed = terminal()
    assert f"kg: waiting for a transaction{WAITS}" in printed
    if not live:
        assert "epoch 0, 60 messages (25% of the topic read), max/mean 1.316" in printed


def test_the_rate_and_the_time_left_of_a_count_leave_out_its_first_step(terminal, clock):
    with message_bar("dkg", 5_000_000, "compiling") as show:
        clock.seconds = 20
        show(1_000_000)
        clock.seconds = 21
        show(2_000_000)
        shown = terminal()
    assert "2,000,000 of 5,000,000 messages  1,000,000/s  0:21  0:03 left" in shown


def test_short_counts_print_no_lines_elsewhere_and_long_ones_few(capsys, clock):
    with message_bar("dkg", 100, "compiling") as show:
        for second in range(13):
            clock.seconds = second
            show(second)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "dkg: 5 of 100 messages, 1/s, 0:05, 1:35 left",
        "dkg: 10 of 100 messages, 1/s, 0:10, 1:30 left",
    ]


def test_units_show_what_is_done_now(terminal, clock):
    with step_bar("advise", "simulations", "compiling") as show:
        show(0, 4, "sg on 4 workers")
        clock.seconds = 10
        show(1, 4, "kg on 4 workers")
    shown = terminal()
    assert "compiling  0:00" in shown
    assert "1 of 4 simulations  kg on 4 workers  0:10  0:30 left" in shown


def test_a_step_that_cannot_be_counted_shows_the_time(terminal):
    with shown_step("advise", "reading the input"):
        pass
    assert "reading the input  0:00" in terminal()


def test_no_color_leaves_out_colours(terminal, monkeypatch):
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9](;[0-9;]+)?m")
    with shown_step("advise", "reading the input"):
        pass
    assert colour.search(terminal(raw=True))
    monkeypatch.setenv("NO_COLOR", "1")
    with shown_step("advise", "reading the input"):
        pass
    assert not colour.search(terminal(raw=True))


def test_a_step_has_a_line_only_where_it_is_logged(capsys):
    with shown_step("diagnose", "loading"):
        pass
    assert capsys.readouterr().err == ""
    with shown_step("rebalance", "starting Spark", logged=True):
        assert capsys.readouterr().err == "rebalance: starting Spark, 0:00\n"


@pytest.mark.parametrize("logged", [False, True])
def test_a_step_is_shown_on_a_terminal_while_it_lasts(terminal, logged):
    with shown_step("rebalance", "starting Spark", logged=logged):
        assert "starting Spark  0:00" in terminal()


def never(*_, **__):
    message = "stopped here"
    raise ConfigurationError(message)


@pytest.mark.parametrize(
    ("command", "first", "step"),
    [
        (
            ("rebalance", "old", "new"),
            "evenkey.cli.rebalance.eks.session",
            "rebalance starting Spark",
        ),
        (
            ("dataset", "produce", "clicks.csv", "localhost:9092/clicks"),
            "evenkey.cli.produce.find_records",
            "producing opening the input",
        ),
        (
            ("diagnose", "log", "--page", "page.html"),
            "evenkey.reports.diagnosis.check_page",
            "diagnose loading Matplotlib",
        ),
    ],
)
def test_commands_show_a_step_before_their_first_long_work(
    invoke, monkeypatch, command, first, step
):
    shown = []

    @contextlib.contextmanager
    def see(begins, **_):
        shown.append(f"{begins.name} {begins.step}")
        yield progress_bars._Lines(Console(quiet=True), steps=False)

    monkeypatch.setattr(progress_bars, "_shown", see)
    monkeypatch.setattr(first, never)
    outcome = invoke(*command)
    assert "stopped here" in outcome.stderr
    assert shown == [step]

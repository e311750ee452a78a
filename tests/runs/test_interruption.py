"""Signals that end a run: the first pauses it, the second ends it, and both take effect."""

from __future__ import annotations

import signal

import pytest

from evenkey.pipeline.runs.driving.query import pausing


@pytest.fixture
def terminations():
    """Count SIGTERM signals, which then do not end the process."""
    heard: list[int] = []
    earlier = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    yield heard
    signal.signal(signal.SIGTERM, earlier)


def test_the_signal_to_terminate_pauses_first_and_has_its_effect_after(tmp_path, terminations):
    paused = tmp_path / "paused"
    with pausing(paused):
        assert not paused.exists()
        signal.raise_signal(signal.SIGTERM)
        assert paused.exists()
        assert not terminations
    assert terminations == [signal.SIGTERM]


def test_an_interrupt_pauses_first_and_interrupts_after(tmp_path):
    seen = []

    def run():
        with pausing(tmp_path / "paused"):
            signal.raise_signal(signal.SIGINT)
            seen.append((tmp_path / "paused").exists())

    with pytest.raises(KeyboardInterrupt):
        run()
    assert seen == [True]


def test_a_second_signal_ends_the_run_immediately(tmp_path, terminations):
    seen = []

    def run():
        with pausing(tmp_path / "paused"):
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            seen.append("went on")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert not seen
    assert not terminations


def test_without_a_signal_nothing_is_done(tmp_path, terminations):
    before = signal.getsignal(signal.SIGINT)
    with pausing(tmp_path / "paused"):
        pass
    assert not (tmp_path / "paused").exists()
    assert not terminations
    assert signal.getsignal(signal.SIGINT) == before

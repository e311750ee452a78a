"""Signals that end a run: the first lets it pause between two epochs, a second ends it at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def pausing(paused: Path) -> Iterator[None]:
    """Let an interrupt, or the signal to terminate, pause a run; after the block it has its effect.

    What else handles these signals is not called before the run has paused: Spark's own handler
    of an interrupt would cancel the epoch. In another thread than the main one nothing is done,
    as signals are not handled there.

    Parameters
    ----------
    paused
        The sign that is made for the sources.

    Raises
    ------
    KeyboardInterrupt
        There was an interrupt, and nobody else handles it. The signal to terminate ends the
        process, where nobody handles it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = {
        number: handler
        for number, handler in earlier.items()
        if handler not in (None, signal.SIG_IGN)
    }
    heard: list[int] = []

    def pause(number: int, _: Any) -> None:
        heard.append(number)
        if len(heard) == 1:
            paused.touch()
            return
        _restore(handled)
        signal.raise_signal(number)

    for number in handled:
        signal.signal(number, pause)
    try:
        yield
    finally:
        _restore(handled)
        if len(heard) == 1:
            signal.raise_signal(heard[0])


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)

"""Signals that end a run: the first pauses the run between epochs, a second ends it immediately."""

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
    """Let an interrupt or SIGTERM pause a run; earlier handlers get the signal after the block.

    Earlier handlers of these signals are called only after the run has paused, because Spark's own
    handler of an interrupt would cancel the epoch. In threads other than the main thread this
    function does nothing, because only the main thread receives signals.

    Parameters
    ----------
    paused
        The pause file, which sources check.

    Raises
    ------
    KeyboardInterrupt
        An interrupt arrived, and there is no other handler for it. If SIGTERM arrived and there is
        no other handler for it, the process ends.
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

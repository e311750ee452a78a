"""The gate that every epoch passes; after a request to pause, it lets no epoch begin."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PY4J = logging.getLogger("py4j.clientserver")


class PausedError(Exception):
    """An epoch did not begin because of a pause; the epoch runs when the run continues."""


class Gate:
    """Lets no epoch begin after a request to pause, if the source itself cannot pause.

    A rejected epoch has done no work yet. Its offsets are in the checkpoint, so it runs first when
    the run continues.

    Parameters
    ----------
    paused
        The pause file.
    open_always
        Whether the source itself checks the pause file. If so, the gate lets every epoch begin that
        the source has offered.
    """

    def __init__(self, paused: Path, *, open_always: bool) -> None:
        self._paused = paused
        self.open_always = open_always
        self.turned_away = False

    def enter(self) -> None:
        """Let an epoch begin.

        Raises
        ------
        PausedError
            A pause is requested. This error ends the query, and Spark reports it as a failure.
        """
        if not self.open_always and self._paused.exists():
            self.turned_away = True
            message = "evenkey: the run is paused"
            raise PausedError(message)


@contextlib.contextmanager
def pauses_unlogged() -> Iterator[None]:
    """Keep Py4J from logging a pause as an error."""

    def no_pause(record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], PausedError)

    _PY4J.addFilter(no_pause)
    try:
        yield
    finally:
        _PY4J.removeFilter(no_pause)

"""The meeting of driver and tasks: whether what one of them writes is seen by the others."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkey.core.stores import SHARED, meet, unseen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.core.stores import Store

MEND = f"an output must be {SHARED}; name one by --output"
_met: set[tuple[str, bytes]] = set()
"""What this process has found already: a place is not another one later."""


@dataclass(frozen=True)
class Meeting:
    """What the driver wrote, and every task must find before it writes. Travels to tasks.

    By it a directory of the same name on another host, which tasks would fill and nobody would
    read, is known from the shared one.

    Parameters
    ----------
    store
        The output.
    name, content
        Of the object that the driver wrote; no other output has that content.
    """

    store: Store
    name: str
    content: bytes = field(repr=False)
    host: str = field(default_factory=socket.gethostname)

    def attend(self) -> None:
        """Make sure that this process sees what the driver wrote.

        Raises
        ------
        RunError
            It does not; the message names both hosts, the path and the mend.
        """
        if (self.store.url, self.content) in _met:
            return
        writer = f"host {self.host}"
        if meet(self.store, self.name, writer, MEND) != self.content:
            raise unseen(self.store.path(self.name), writer, MEND)
        _met.add((self.store.url, self.content))


def check_found(store: Store, missing: Sequence[tuple[str, str]]) -> None:
    """Make sure that the driver has found all that tasks reported they wrote.

    Parameters
    ----------
    store
        Where they wrote.
    missing
        Names of objects that the driver does not find, each with the host that wrote it.

    Raises
    ------
    RunError
        There is one; the message names both hosts, the path and the mend.
    """
    for name, host in missing:
        raise unseen(store.path(name), f"host {host}", MEND)

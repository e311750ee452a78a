"""Shared-storage check: a host checks that it sees what another host has written."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from evenkey.core.stores.base import Store

SHARED = (
    "a place that the driver and all executors share, such as s3a://bucket/state or a path that is "
    "mounted on every host"
)
"""Part of messages: where state must be stored."""
STATE_REMEDY = f"state must be {SHARED}; evenkey run keeps it in its --output"
"""Part of messages: what to do if a host does not see the state."""
OUTPUT_REMEDY = f"an output must be {SHARED}; name one by --output"
"""Part of messages: what to do if a host does not see the output of a run."""

_seen: set[tuple[str, bytes | None]] = set()
"""Path and content of each mark that this process has seen and does not check again."""


@dataclass(frozen=True)
class SharedMark:
    """An object that one process wrote, and that shows other processes that they share its storage.

    Tasks get a copy of the mark and check that they see the object. If the directory is local to
    each host, the check fails, and one error reports it.

    Parameters
    ----------
    store, name
        Store and name of the object.
    host
        Host that wrote the object.
    remedy
        What to do if a host does not see the object. The error message contains this text.
    content
        Content that the object must have. None: any content.
    """

    store: Store
    name: str
    host: str
    remedy: str = STATE_REMEDY
    content: bytes | None = field(default=None, repr=False)

    def check(self) -> None:
        """Check that this process sees the object.

        Raises
        ------
        RunError
            This process does not see the object. The message names both hosts, the path and the
            remedy.
        """
        path = self.store.path(self.name)
        if (path, self.content) in _seen:
            return
        writer = f"host {self.host}"
        found = read_shared(self.store, self.name, writer, self.remedy)
        if self.content not in {None, found}:
            raise unseen(path, writer, self.remedy)
        _seen.add((path, self.content))


def read_shared(store: Store, name: str, writer: str, remedy: str) -> bytes:
    """Read an object that another host has written.

    Parameters
    ----------
    store, name
        Store and name of the object.
    writer
        Text that names the host that wrote the object, such as ``"host worker2"``.
    remedy
        What to do if this host does not see the object. The error message contains this text.

    Raises
    ------
    RunError
        This host does not see the object, or cannot read it. The message, one line, names both
        hosts, the path and the remedy.
    """
    try:
        content = store.find(name)
    except OSError as error:
        message = f"host {platform.node()} cannot read {store.path(name)} ({error}): {remedy}"
        raise RunError(message) from error
    if content is None:
        raise unseen(store.path(name), writer, remedy)
    return content


def unseen(path: str, writer: str, remedy: str) -> RunError:
    """Make the error for a host that does not see what another host wrote."""
    return RunError(f"host {platform.node()} does not see what {writer} wrote at {path}: {remedy}")

"""What a store is: objects by name under one root, shared by the driver and all executors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from evenkey.core.stores.side_by_side import at_once

if TYPE_CHECKING:
    from typing import Self


class Store(ABC):
    """Objects under a root, each of them put whole. Travels to tasks.

    Names are relative, with ``/`` between their parts; no part begins with a dot. The interface has
    no renames and no modification times, and listings are sorted by name: so the same code is
    correct on a disk and on an object store.

    All methods raise `OSError` if the store cannot be reached or refuses.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """The root, as people and Spark name it: a path, or a URI without credentials."""

    @abstractmethod
    def under(self, name: str) -> Self:
        """Give the store of the objects whose names begin with ``name/``."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Read an object.

        Raises
        ------
        FileNotFoundError
            It is not there.
        """

    @abstractmethod
    def put(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write an object whole, in place of one that is there. Nobody ever sees a part of it.

        Parameters
        ----------
        name, content
            Of the object.
        durable
            Whether it must survive a sudden stop of the machine. In an object store it always does;
            on a disk this costs some milliseconds.
        """

    @abstractmethod
    def create(self, name: str, content: bytes, *, durable: bool = False) -> bool:
        """Write an object unless it is there, and say whether this call wrote it.

        Of several processes that create the same object exactly one succeeds, however long each of
        them waits before it does, and nobody ever sees a part of it.
        """

    @abstractmethod
    def names(self, name: str = "") -> list[str]:
        """Names of all objects under ``name/``, at any depth, in order; empty if there are none.

        They are relative to the root of the store, as `read` takes them.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete an object; do nothing if it is not there."""

    def clear(self) -> None:
        """Delete all objects.

        Where other programs write there too, such as Spark, all of theirs goes with them: files
        whose names begin with a dot, and what they make of directories.
        """
        at_once(self.delete, self.names())

    def find(self, name: str) -> bytes | None:
        """Read an object; None if it is not there."""
        try:
            return self.read(name)
        except FileNotFoundError:
            return None

    def path(self, name: str) -> str:
        """Where an object lies, for messages."""
        return f"{self.url.rstrip('/')}/{name}"

    def __str__(self) -> str:
        return self.url

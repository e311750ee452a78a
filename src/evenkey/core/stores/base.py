"""The interface of a store: objects by name under one root, shared by driver and executors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from evenkey.core.stores.side_by_side import at_once

if TYPE_CHECKING:
    from typing import Self


class Store(ABC):
    """Objects under a root, each written as a whole. A store can be sent to tasks.

    Names are relative to the root, with ``/`` between their parts; no part begins with a dot. The
    interface has no renames and no modification times, and listings are sorted by name. So the
    same code is correct on a disk and on an object store.

    All methods raise `OSError` if the store cannot be reached or refuses.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """The root, as users and Spark write it: a path, or a URI without credentials."""

    @abstractmethod
    def under(self, name: str) -> Self:
        """Return the store of the objects whose names begin with ``name/``."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Read an object.

        Raises
        ------
        FileNotFoundError
            There is no such object.
        """

    @abstractmethod
    def put(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write an object as a whole, replacing an existing one. No reader ever sees a part of it.

        Parameters
        ----------
        name, content
            Name and content of the object.
        durable
            Whether it must survive a sudden stop of the machine. In an object store it always does;
            on a disk this costs some milliseconds.
        """

    @abstractmethod
    def create(self, name: str, content: bytes, *, durable: bool = False) -> bool:
        """Write an object unless it exists; return whether this call wrote it.

        Of several processes that create the same object, exactly one succeeds, however slow each of
        them is. No reader ever sees a part of the object.
        """

    @abstractmethod
    def names(self, name: str = "") -> list[str]:
        """Return the names of all objects under ``name/``, at any depth, in order; may be empty.

        The names are relative to the root of the store, as in `read`.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete an object; do nothing if it does not exist."""

    def clear(self) -> None:
        """Delete all objects.

        If other programs such as Spark write under the root too, everything of theirs is deleted as
        well: files whose names begin with a dot, and objects that mark directories.
        """
        at_once(self.delete, self.names())

    def find(self, name: str) -> bytes | None:
        """Read an object; None if it does not exist."""
        try:
            return self.read(name)
        except FileNotFoundError:
            return None

    def path(self, name: str) -> str:
        """Return the full path of an object, for messages."""
        return f"{self.url.rstrip('/')}/{name}"

    def __str__(self) -> str:
        return self.url

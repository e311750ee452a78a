"""The interface of a store: named objects under one root, which driver and executors share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from evenkey.core.stores.side_by_side import at_once

if TYPE_CHECKING:
    from typing import Self


class Store(ABC):
    """Named objects under a root, each written as a whole. A store can be sent to tasks.

    Names are relative to the root, with ``/`` between their parts; no part begins with a dot. The
    interface has no renames and no modification times, and listings are sorted by name. So the
    same code is correct on a disk and on an object store.

    All methods raise `OSError` if the store cannot be reached or refuses the request.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """The root, as users and Spark write it: a path, or a URI without credentials."""

    @property
    def named_servers(self) -> list[str]:
        """Addresses that only the URL names, and that get secrets of the environment."""
        return []

    @abstractmethod
    def under(self, name: str) -> Self:
        """Return a store with the root ``name/``: the objects whose names begin with ``name/``."""

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
        """Write an object as a whole, or replace it. No reader ever sees a part of the object.

        Parameters
        ----------
        name, content
            Name and content of the object.
        durable
            Whether the object must survive a sudden stop of the machine. Objects in an object store
            always survive it. On a disk, True costs some milliseconds.
        """

    @abstractmethod
    def create(self, name: str, content: bytes, *, durable: bool = False) -> bool:
        """Write an object unless it exists; return whether this call wrote it.

        If several processes create the same object, exactly one of them succeeds, however slow the
        processes are. No reader ever sees a part of the object.
        """

    @abstractmethod
    def names(self, name: str = "") -> list[str]:
        """Return the sorted names of all objects under ``name/``, at any depth; may be empty.

        The names are relative to the root of the store, as in `read`.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete an object; do nothing if it does not exist."""

    def clear(self) -> None:
        """Delete all objects.

        If another program such as Spark also writes under the root, its objects are deleted as
        well, including files whose names begin with a dot and objects that mark directories.
        """
        at_once(self.delete, self.names())

    def find(self, name: str) -> bytes | None:
        """Read an object; return None if it does not exist."""
        try:
            return self.read(name)
        except FileNotFoundError:
            return None

    def path(self, name: str) -> str:
        """Return the full path of an object, for messages."""
        return f"{self.url.rstrip('/')}/{name}"

    def __str__(self) -> str:
        return self.url

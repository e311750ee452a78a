"""What a maker's client does with one bucket, for `ObjectStore`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NONCE", "Bucket", "Verdict"]

NONCE = "evenkeynonce"
"""Name of the metadata by which a writer knows its own object again."""


class Verdict(Enum):
    """What an error of a client means."""

    ABSENT = auto()
    """The object is not there."""
    TAKEN = auto()
    """The object is there, so it was not created."""
    PASSING = auto()
    """The same call may succeed later, and may already have succeeded."""
    FINAL = auto()
    """The same call will fail again."""


class Bucket(ABC):
    """One bucket, through its maker's client, which is made in each process when it is first used.

    Methods raise the client's own errors; `verdict` sorts them. The client itself must not try
    again: `ObjectStore` does. Two buckets are equal if they keep the same name and settings.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def read(self, key: str) -> bytes:
        """Read an object."""

    @abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Write an object, in place of one that is there."""

    @abstractmethod
    def create(self, key: str, content: bytes, nonce: str) -> None:
        """Write an object with its nonce if none is there: decided by the server, in one call."""

    @abstractmethod
    def nonce(self, key: str) -> str | None:
        """Request the nonce of an object; None if it has none."""

    @abstractmethod
    def keys(self, prefix: str) -> Iterator[str]:
        """List the objects whose keys begin with a prefix."""

    def directories(self, prefix: str) -> list[str]:
        """List the keys of what other programs make of directories."""
        return [key for key in self.keys(prefix) if key.endswith("/")]

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete an object; may raise if it is not there."""

    @abstractmethod
    def verdict(self, error: Exception) -> Verdict:
        """Sort an error of this client."""

    @abstractmethod
    def secrets(self) -> list[str]:
        """What must not appear in a message."""

    def fix(self, error: Exception) -> str:
        """Return what fixes an error; empty if its own text says so."""
        del error
        return ""

"""Operations on one bucket by the client library of its provider, for `ObjectStore`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NONCE", "Bucket", "Verdict"]

NONCE = "evenkeynonce"
"""Name of the metadata by which a writer recognizes its own object."""


class Verdict(Enum):
    """What an error of a client means."""

    ABSENT = auto()
    """The object does not exist."""
    TAKEN = auto()
    """The object exists already, so it was not created."""
    PASSING = auto()
    """The same call may succeed later, and may already have succeeded."""
    FINAL = auto()
    """The same call will fail again."""


class Bucket(ABC):
    """One bucket; each process makes a client of the provider's library when it first needs it.

    Methods raise the client's own errors; `verdict` classifies them. The client itself must not
    retry: `ObjectStore` does. Two buckets are equal if they have the same name and settings.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def read(self, key: str) -> bytes:
        """Read an object."""

    @abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Write an object, replacing an existing one."""

    @abstractmethod
    def create(self, key: str, content: bytes, nonce: str) -> None:
        """Write an object with its nonce unless it exists; the server decides, in one call."""

    @abstractmethod
    def nonce(self, key: str) -> str | None:
        """Request the nonce of an object; None if it has none."""

    @abstractmethod
    def keys(self, prefix: str) -> Iterator[str]:
        """List the objects whose keys begin with a prefix."""

    def directories(self, prefix: str) -> list[str]:
        """List the keys of objects by which other programs mark directories."""
        return [key for key in self.keys(prefix) if key.endswith("/")]

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete an object; may raise if it does not exist."""

    @abstractmethod
    def verdict(self, error: Exception) -> Verdict:
        """Return what an error of this client means."""

    @abstractmethod
    def secrets(self) -> list[str]:
        """Return the texts that must not appear in messages."""

    def fix(self, error: Exception) -> str:
        """Return what the user can do about an error; empty if the error itself says it."""
        del error
        return ""

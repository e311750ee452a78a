"""The interface of a bucket, through which `ObjectStore` calls a provider's client library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NONCE", "Bucket", "Verdict"]

NONCE = "evenkeynonce"
"""Name of the metadata entry with the nonce, by which a writer recognizes its own object."""


class Verdict(Enum):
    """What an error of a provider's client library means."""

    ABSENT = auto()
    """The object does not exist."""
    TAKEN = auto()
    """The object exists already, so it was not created."""
    PASSING = auto()
    """Transient: the same call may succeed later. The failed call may have done its work."""
    FINAL = auto()
    """Permanent: the same call will fail again."""


class Bucket(ABC):
    """One bucket. Each process makes its client of the provider's library at the first call.

    The methods raise the errors of the client, which `verdict` classifies. The client must not
    retry calls, because `ObjectStore` does. Two buckets are equal if they have the same name and
    settings.
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
        """Write an object with its nonce unless it exists; the server checks this atomically."""

    @abstractmethod
    def nonce(self, key: str) -> str | None:
        """Return the nonce stored with an object; None if the object has no nonce."""

    @abstractmethod
    def keys(self, prefix: str) -> Iterator[str]:
        """Yield all keys that begin with a prefix."""

    def directories(self, prefix: str) -> list[str]:
        """Return the keys of the objects with which other programs mark directories."""
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
        """Return what the user can do about an error; an empty text if the error itself says so."""
        del error
        return ""

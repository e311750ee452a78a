"""What all sketches share: they are what their bytes say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

Restored = TypeVar("Restored", bound="Sketch")


class Sketch(ABC):
    """A summary of a stream in constant space, compared and pickled by its bytes."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """How many entries it can hold."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Serialize; equal sketches give equal bytes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore what `to_bytes` gave.

        Raises
        ------
        RunError
            The bytes are not those of such a sketch.
        """

    def __eq__(self, other: object) -> bool:
        """Say whether the other sketch holds the same; it goes on in the same way, too."""
        return isinstance(other, type(self)) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[type[Self], bytes], Self], tuple[type[Self], bytes]]:
        """Pickle the entries, not the free space."""
        # Not `from_bytes` itself: Spark's pickler would copy a method with all that it uses.
        return _restored, (type(self), self.to_bytes())

    def check_capacity_of(self, other: Self) -> None:
        """Make sure that two sketches can be merged.

        Raises
        ------
        ConfigurationError
            The capacities differ.
        """
        if other.capacity != self.capacity:
            message = (
                f"sketches of capacity {self.capacity} and {other.capacity} do not merge: "
                "use one capacity"
            )
            raise ConfigurationError(message)


def _restored(kind: type[Restored], data: bytes) -> Restored:
    return kind.from_bytes(data)

"""The base class of sketches, which are compared, pickled and restored by their bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

Restored = TypeVar("Restored", bound="Sketch")


class Sketch(ABC):
    """A summary of a stream in constant space; sketches with the same bytes are equal."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Maximum number of entries of the sketch."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Serialize the sketch; equal sketches have equal bytes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a sketch from the bytes of `to_bytes`.

        Raises
        ------
        RunError
            The bytes are not those of a sketch of this class.
        """

    def __eq__(self, other: object) -> bool:
        """Return whether both sketches have equal bytes, and so treat further messages equally."""
        return isinstance(other, type(self)) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[type[Self], bytes], Self], tuple[type[Self], bytes]]:
        """Pickle the entries without the free space of the arrays."""
        # Not `from_bytes`, because Spark's pickler would copy a method and all that it refers to.
        return _restored, (type(self), self.to_bytes())

    def check_capacity_of(self, other: Self) -> None:
        """Check that two sketches can be merged.

        Raises
        ------
        ConfigurationError
            The capacities differ.
        """
        if other.capacity != self.capacity:
            message = (
                f"sketches of capacity {self.capacity} and {other.capacity} cannot be merged: "
                "give both the same capacity"
            )
            raise ConfigurationError(message)


def _restored(kind: type[Restored], data: bytes) -> Restored:
    return kind.from_bytes(data)

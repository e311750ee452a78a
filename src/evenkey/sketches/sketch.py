"""What all sketches share: they are what their bytes say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


class Sketch(ABC):
    """A summary of a stream in constant space, compared and pickled by its bytes."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """How many entries it has room for."""

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

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        """Pickle what is held, not the room for more."""
        return self.from_bytes, (self.to_bytes(),)

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

"""What an exporter is: it makes points of records and writes them somewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.exporters.epoch_record import EpochRecord

Ending: TypeAlias = Literal["finished", "paused", "failed"]
"""How a run ended."""


class Unreachable(Exception):  # noqa: N818 - a state of the other side, not a mistake
    """The other side does not answer now; the same points may be written later."""


@dataclass(frozen=True)
class ExportSummary:
    """What became of the points of one exporter.

    Parameters
    ----------
    to
        The exporter's address, without secrets.
    points
        Written.
    dropped
        Given up: the queue was full, the other side refused them, or the run ended first.
    error
        Why the last write that failed did; None if none did.
    """

    to: str
    points: int
    dropped: int
    error: str | None

    def to_json(self) -> dict[str, Any]:
        """Give the figures as JSON can hold them."""
        return dict(vars(self))


class Exporter(ABC):
    """Writes the figures of a run somewhere; called from one thread, apart from `points`.

    Making one may raise a `ConfigurationError`: what the user can mend is reported before the
    run starts. Afterwards nothing that an exporter raises reaches the run.
    """

    largest_batch: ClassVar[int] = 5000
    """Points that one write takes at most."""

    @property
    @abstractmethod
    def to(self) -> str:
        """Where it writes, without secrets."""

    @abstractmethod
    def points(self, record: EpochRecord) -> Sequence[Any]:
        """Make points of a record, without waiting for anything."""

    @abstractmethod
    def write(self, points: Sequence[Any]) -> None:
        """Write points; writing the same ones again must do no harm.

        Raises
        ------
        Unreachable
            They may be written later.
        """

    def lacks(self, epoch: int) -> bool:
        """Say whether it keeps the epochs of a run, and has none of this number."""
        del epoch
        return False

    def beat(self) -> None:  # noqa: B027 - few have anything to do
        """Show that the run lives; called about once a second."""

    @abstractmethod
    def close(self, ending: Ending) -> None:
        """Let go of everything; the run has ended this way."""

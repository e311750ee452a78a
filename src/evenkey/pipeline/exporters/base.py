"""The base class of exporters, which convert records to points and write the points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.exporters.epoch_record import EpochRecord

Ending: TypeAlias = Literal["finished", "paused", "failed"]
"""How a run ended."""


class Unreachable(Exception):  # noqa: N818 - the state of the destination, not an error in a call
    """The destination does not answer now; the same points may be written later."""


@dataclass(frozen=True)
class ExportSummary:
    """How many points one exporter wrote and dropped.

    Parameters
    ----------
    to
        The exporter's address, without secrets.
    points
        Points written.
    dropped
        Points dropped: the queue was full, the destination rejected them, or the run ended first.
    error
        The reason for the last failed write; None if no write failed.
    """

    to: str
    points: int
    dropped: int
    error: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        return dict(vars(self))


class Exporter(ABC):
    """Writes the figures of a run; `write` and `beat` are always called from the same thread.

    The constructor may raise a `ConfigurationError`, so that errors the user can fix are reported
    before the run starts. Later errors of an exporter never reach the run.
    """

    largest_batch: ClassVar[int] = 5000
    """Maximum points per write."""

    @property
    @abstractmethod
    def to(self) -> str:
        """The destination, without secrets."""

    @abstractmethod
    def points(self, record: EpochRecord) -> Sequence[Any]:
        """Convert a record to points, without waiting."""

    @abstractmethod
    def write(self, points: Sequence[Any]) -> None:
        """Write points; writing the same points again must change nothing.

        Raises
        ------
        Unreachable
            The destination does not answer now; the same points may be written later.
        """

    def lacks(self, epoch: int) -> bool:
        """Return whether the exporter stores the epochs of a run but lacks this epoch."""
        del epoch
        return False

    def beat(self) -> None:  # noqa: B027 - most exporters write no heartbeat
        """Write a heartbeat of the run; called about once per second."""

    @abstractmethod
    def close(self, ending: Ending) -> None:
        """Release all resources after the end of the run; `ending` says how the run ended."""

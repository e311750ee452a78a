"""Scales of experiments: streams that take minutes, an hour, or are of the paper's size."""

from __future__ import annotations

from dataclasses import dataclass

from evenkey.core.spelling import unknown_name


@dataclass(frozen=True)
class Scale:
    """The size of an experiment's streams.

    Parameters
    ----------
    name
        Name of the scale for users.
    most_messages
        Maximum number of messages; longer streams are cut. None: streams are as long as in the
        paper.
    repeats
        Number of runs of a timed scenario; the result is the median of these runs.

    Examples
    --------
    >>> [scale.messages(22_000_000) for scale in (QUICK, MEDIUM, FULL)]
    [500000, 2500000, 22000000]
    """

    name: str
    most_messages: int | None = None
    repeats: int = 1

    @property
    def whole(self) -> bool:
        """Whether streams are as long as in the paper."""
        return self.most_messages is None

    @property
    def shortest(self) -> bool:
        """Whether streams are as short as with ``quick``, however often they run."""
        return self.name == QUICK.name

    def messages(self, published: int, *, quick: float = 1) -> int:
        """Return the length of a stream that has `published` messages in the paper.

        Parameters
        ----------
        published
            Number of messages in the paper.
        quick
            Factor by which `most_messages` is multiplied, for experiments that need longer or
            shorter streams.
        """
        if self.most_messages is None:
            return published
        return min(published, round(quick * self.most_messages))


QUICK = Scale("quick", 500_000)
MEDIUM = Scale("medium", 2_500_000, repeats=3)
FULL = Scale("full", repeats=3)


def scale_named(name: str) -> Scale:
    """Find a scale by its name.

    Raises
    ------
    ConfigurationError
        There is no scale with this name.
    """
    scales = {scale.name: scale for scale in (QUICK, MEDIUM, FULL)}
    if name not in scales:
        error = unknown_name("scale", name, scales)
        raise error
    return scales[name]

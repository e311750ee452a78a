"""How much of an experiment is run: a few minutes' worth of it, or the paper's sizes."""

from __future__ import annotations

from dataclasses import dataclass

from evenkey.core.spelling import unknown_name


@dataclass(frozen=True)
class Scale:
    """How large an experiment's streams are.

    Parameters
    ----------
    name
        How users spell it.
    most_messages
        Longer streams are cut off here; None leaves them as long as the paper's.
    repeats
        Runs of what is timed, of which the medians are taken.

    Examples
    --------
    >>> QUICK.messages(22_000_000), FULL.messages(22_000_000)
    (500000, 22000000)
    """

    name: str
    most_messages: int | None = None
    repeats: int = 1

    @property
    def whole(self) -> bool:
        """Whether streams are as long as the paper's."""
        return self.most_messages is None

    def messages(self, published: int, *, quick: float = 1) -> int:
        """How many messages a stream has that is `published` messages long in the paper.

        Parameters
        ----------
        published
            Messages in the paper.
        quick
            Multiplies `most_messages`, for experiments that need longer streams or have time.
        """
        if self.most_messages is None:
            return published
        return min(published, round(quick * self.most_messages))


QUICK = Scale("quick", 500_000)
FULL = Scale("full", repeats=3)


def scale_named(name: str) -> Scale:
    """Find a scale by its name.

    Raises
    ------
    ConfigurationError
        There is none of that name.
    """
    scales = {scale.name: scale for scale in (QUICK, FULL)}
    if name not in scales:
        error = unknown_name("scale", name, scales)
        raise error
    return scales[name]

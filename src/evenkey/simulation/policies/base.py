"""The base class of policies: between two epochs, a policy may give state partitions new owners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from evenkey.core.checking import check_fields
from evenkey.core.spelling import classes_of, read, spell_changed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Observed(NamedTuple):
    """What a policy knows at the end of an epoch.

    Parameters
    ----------
    owners
        int32[P], worker of each state partition in the epoch.
    messages
        float64[P], messages of each partition in the epoch.
    seconds
        float64[P], seconds of work on these messages, by the worker that did it.
    sizes
        float64[P], bytes of the states of each partition.
    workers
        Number of workers, W.
    unchanged
        Number of epochs, this one included, since owners last changed or the stream began.
    """

    owners: NDArray[np.int32]
    messages: NDArray[np.float64]
    seconds: NDArray[np.float64]
    sizes: NDArray[np.float64]
    workers: int
    unchanged: int


@dataclass(frozen=True)
class Policy(ABC):
    """A rule by which the states of keys move between workers.

    A class of your own is a frozen dataclass with a `name` and the method `replan`.

    Examples
    --------
    >>> import numpy as np
    >>> from evenkey.core.streams import generated
    >>> from evenkey.simulation import Policy, simulate_policies
    >>> @dataclass(frozen=True)
    ... class Rotating(Policy):
    ...     name = "rotating"
    ...
    ...     def replan(self, observed):
    ...         return (observed.owners + 1) % observed.workers
    >>> stream = generated("uniform(keys=40)", messages=300)
    >>> (report,) = simulate_policies(stream, [Rotating()], workers=4, epoch_messages=100)
    >>> [epoch.moved_states for epoch in report.epochs]
    [0, 33, 40]
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        """Return the spelling, without parameters that have their defaults."""
        return spell_changed(self)

    @property
    def pause(self) -> float | None:
        """Seconds for which new owners stop the stream; None: states move while it runs."""
        return None

    @abstractmethod
    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the owners of the partitions in the next epoch, int32[P]; None: they stay."""


def parse_policy(text: str | Policy) -> Policy:
    """Read a policy from its spelling, such as ``hash`` or ``restart(seconds=60)``.

    A `Policy` is returned unchanged.

    Raises
    ------
    ConfigurationError
        The policy or a parameter is unknown, or a value is invalid.

    Examples
    --------
    >>> parse_policy("mean(threshold=0.2)")
    ByMean(threshold=0.2, min_improvement=0.3)
    """
    if isinstance(text, Policy):
        return text
    known: dict[str, type[Policy]] = {each.name: each for each in classes_of(Policy)}
    return read("policy", text, known)

"""What is simulated on a stream: a grouping, and all options that affect the figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from evenkey.core.checking import check_workers
from evenkey.core.spelling import unknown_name
from evenkey.groupings import By, parse
from evenkey.simulation.estimation import parse_estimation

if TYPE_CHECKING:
    from evenkey.groupings import Grouping
    from evenkey.simulation.estimation import Estimation
    from evenkey.simulation.feeding import Feed
    from evenkey.simulation.key_hashes import HashName


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A grouping to simulate, with all other options of the simulation.

    Parameters
    ----------
    grouping, workers, sources, readers, feed, estimation, hash, route_by, observe_by
        As for `simulate`.
    agreement, samples, epoch_messages, replication
        As for `simulate`.

    Raises
    ------
    ConfigurationError
        A name or a spelling is unknown, or a number is out of range.

    Examples
    --------
    >>> Setting("pkg", workers=10).parsed_grouping.router(10).workers
    10
    """

    grouping: Grouping | str = field(kw_only=False)
    workers: int = 50
    sources: int = 5
    readers: int = 1
    feed: Feed = "shuffle"
    estimation: Estimation | str = "local"
    hash: HashName = "xxhash64"
    route_by: By = "messages"
    observe_by: By = "messages"
    agreement: bool = False
    samples: int = 200
    epoch_messages: int | None = None
    replication: bool = True

    def __post_init__(self) -> None:
        check_workers(self.workers)
        _ = self.parsed_grouping, self.parsed_estimation
        for name, by in (("route_by", self.route_by), ("observe_by", self.observe_by)):
            if by not in get_args(By):
                unknown = unknown_name(name, by, get_args(By))
                raise unknown

    @cached_property
    def parsed_grouping(self) -> Grouping:
        """The grouping, read from its spelling."""
        return parse(self.grouping)

    @cached_property
    def parsed_estimation(self) -> Estimation:
        """The estimation, read from its spelling."""
        return parse_estimation(self.estimation)

"""Load estimation: what a source knows about the loads of workers when it chooses a worker."""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import build, spell, unknown_name
from evenkey.core.spelling import parse as parse_spelling

_LONE_NUMBER = re.compile(r"\s*probing\s*\(\s*(?P<seconds>[^()=,]+?)\s*\)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Estimation(ABC):
    """A way to estimate the loads of workers (PKG paper, sections 3.2 and 6.2, Q2)."""

    name: ClassVar[str]

    def __str__(self) -> str:
        """Return the spelling, with the parameters."""
        return spell(self.name, dataclasses.asdict(self))


@dataclass(frozen=True)
class Local(Estimation):
    """Each source knows only the loads that it sent itself (L in the PKG paper)."""

    name: ClassVar[str] = "local"


@dataclass(frozen=True)
class Global(Estimation):
    """One router routes the whole stream, in order, by the true loads (G in the PKG paper)."""

    name: ClassVar[str] = "global"


@dataclass(frozen=True)
class Probing(Estimation):
    """As `Local`, but all sources read the true loads at intervals (LP in the PKG paper).

    All sources read the true loads together, before the first message of each new period. Each
    source then sets its loads to the true loads times its own share of all messages. The variant P1
    in the paper has periods of 60 seconds.

    Parameters
    ----------
    seconds
        Length of a period in seconds of event time, above 0. A period begins at each multiple of
        this length.
    """

    name: ClassVar[str] = "probing"
    seconds: float

    def __post_init__(self) -> None:
        check_fields(self)
        if not (self.seconds > 0 and math.isfinite(self.seconds)):
            message = f"probing: seconds = {self.seconds:g}: must be above 0 seconds"
            raise ConfigurationError(message)


_ESTIMATIONS: dict[str, type[Estimation]] = {each.name: each for each in (Local, Global, Probing)}


def parse_estimation(text: str | Estimation) -> Estimation:
    """Read an estimation from its spelling: ``local``, ``global`` or ``probing(60)``.

    An `Estimation` is returned unchanged.

    Raises
    ------
    ConfigurationError
        The name or a parameter is unknown, or the period is not above 0.

    Examples
    --------
    >>> parse_estimation("probing(60)")
    Probing(seconds=60.0)
    >>> str(parse_estimation("probing(seconds=60)")), str(parse_estimation("local"))
    ('probing(seconds=60)', 'local')
    """
    if isinstance(text, Estimation):
        return text
    lone = _LONE_NUMBER.fullmatch(text)
    name, parameters = parse_spelling(
        text if lone is None else f"probing(seconds={lone['seconds']})"
    )
    if name not in _ESTIMATIONS:
        unknown = unknown_name("estimation", name, _ESTIMATIONS)
        raise unknown
    return build("estimation", _ESTIMATIONS[name], name, parameters)

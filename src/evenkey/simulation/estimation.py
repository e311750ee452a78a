"""Load estimation: what a source knows of the workers' loads when it decides."""

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
    """A way to estimate the loads of workers (PKG paper, section 3.2 and 6.2, Q2)."""

    name: ClassVar[str]

    def __str__(self) -> str:
        """Spell it with its parameters."""
        return spell(self.name, dataclasses.asdict(self))


@dataclass(frozen=True)
class Local(Estimation):
    """Each source counts its own messages (L in the paper)."""

    name: ClassVar[str] = "local"


@dataclass(frozen=True)
class Global(Estimation):
    """Every decision knows the true loads (G): one router sees the whole stream in order."""

    name: ClassVar[str] = "global"


@dataclass(frozen=True)
class Probing(Estimation):
    """Local, and at intervals all sources read the true loads (LP).

    All sources do so together, before the first message of each new period: each sets its loads
    to the true loads times its own share of all messages. The paper's P1 is 60 seconds.

    Parameters
    ----------
    seconds
        Length of a period of event time, above 0; periods count from time 0.
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

    An estimation is given back as it is.

    Raises
    ------
    ConfigurationError
        There is no such estimation or parameter, or the period is not above 0.

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

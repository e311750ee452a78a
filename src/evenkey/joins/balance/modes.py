"""The paper's six modes of a join: what is balanced, and whether static partitions are cached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import unknown_name

Balance = Literal["load", "rows"]
"""What the Dynamic Distributor counts as load: seconds of work, or rows."""


@dataclass(frozen=True)
class Mode:
    """What a join balances, and whether static partitions stay in their worker.

    Parameters
    ----------
    balance
        What the Dynamic Distributor balances. ``rows``: the number of rows (data balancing, DB, in
        the paper). ``load``: the seconds of work on the rows (LB). None: partitions do not move
        (static).
    cache_static
        True: static partitions stay in their worker between epochs, and the stream's rows move to
        this worker (STAL). False: the tasks that join load the static partitions in every epoch
        (STRL).

    Examples
    --------
    >>> Mode.parse("dynamic-lb-stal")
    Mode(balance='load', cache_static=True)
    >>> str(Mode(balance=None, cache_static=False))
    'static-strl'

    >>> Mode.parse("static-stal").dynamic
    False
    """

    balance: Balance | None
    cache_static: bool

    @classmethod
    def parse(cls, text: str | Mode) -> Mode:
        """Read the name of a mode; a `Mode` is returned unchanged.

        Raises
        ------
        ConfigurationError
            The mode does not exist; the message lists all modes.
        """
        if isinstance(text, Mode):
            return text
        if not isinstance(text, str):
            message = f"mode = {shown(text)}: must be one of {', '.join(_MODES)}"
            raise ConfigurationError(message)
        if text not in _MODES:
            error = unknown_name("mode", text, _MODES)
            raise error
        return _MODES[text]

    @property
    def dynamic(self) -> bool:
        """Whether partitions move."""
        return self.balance is not None

    def __str__(self) -> str:
        """Return the name of the mode on the command line."""
        place = "stal" if self.cache_static else "strl"
        if self.balance is None:
            return f"static-{place}"
        return f"dynamic-{'lb' if self.balance == 'load' else 'db'}-{place}"


_BALANCES: tuple[Balance | None, ...] = (None, "rows", "load")
_MODES = {
    str(mode): mode
    for mode in (Mode(balance, keeps) for balance in _BALANCES for keeps in (False, True))
}

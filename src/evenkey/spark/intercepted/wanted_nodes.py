"""What an interception wants of analysed plans: joins of SQL texts, and windows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from evenkey.spark.intercepted.describing import TextParts, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkey.spark.intercepted.intercepted_call import Described

_MOST = 10_000
"""Maximum number of plans that are remembered; the oldest ones are forgotten."""


class WantedNodes:
    """What an interception wants of analysed plans.

    Parameters
    ----------
    wanted
        Says of a join or a window whether it is passed to the handler. One that is not wanted is
        not wanted later either.
    refused
        Takes a line that says why a join, a window, or a plan with either is left to Spark.
    known
        What each wanted join and window reads, and its condition or key, as in `Described`. Plans
        that do not have all of this are skipped quickly, and so are plans without a wanted node
        from their second time on. None: every plan is read.
    windows
        Whether a window can be wanted. If none can, only SQL texts are looked at.
    """

    def __init__(
        self,
        wanted: Callable[[Described], bool],
        refused: Callable[[str, Exception], None],
        known: Iterable[tuple[Iterable[str], str]] | None = None,
        *,
        windows: bool = True,
    ) -> None:
        self.wanted = wanted
        self.refused = refused
        self.windows = windows
        self._known: list[TextParts] | None = None
        if known is not None:
            self._known = [TextParts(frozenset(reads), words_of(by)) for reads, by in known]
        self._unwanted: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._lock = threading.Lock()

    def skips(self, key: tuple[int, int]) -> bool:
        """Return whether a plan with this key had no wanted node."""
        return key in self._unwanted

    def may_want(self, plan: TextParts) -> bool:
        """Return whether a plan can have a wanted node."""
        return self._known is None or any(
            each.reads <= plan.reads and each.words <= plan.words for each in self._known
        )

    def skip(self, key: tuple[int, int]) -> None:
        """Let `skips` return True for a plan, unless every plan is read."""
        if self._known is None:
            return
        with self._lock:
            self._unwanted[key] = None
            while len(self._unwanted) > _MOST:
                self._unwanted.popitem(last=False)


def refuse(every: Sequence[WantedNodes], name: str, error: Exception) -> None:
    """Tell each interception why something is left to Spark."""
    for each in every:
        each.refused(name, error)

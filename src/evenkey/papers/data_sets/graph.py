"""Look-alikes of graphs: a message is an edge, from a sender to a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.streams import Published
from evenkey.papers.data_sets.look_alike import LookAlike, LookAlikeModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PKG = "PKG paper, table 1"
_MODELS = {
    "livejournal": LookAlikeModel(
        Published("edges of a social network", _PKG, 69_000_000, 0.29, 4_900_000), 4_900_000
    ),
    "slashdot0811": LookAlikeModel(
        Published("edges of a social network", _PKG, 905_000, 3.28, 77_000), 77_000
    ),
    "slashdot0902": LookAlikeModel(
        Published("edges of a social network", _PKG, 948_000, 3.11, 82_000), 82_000
    ),
}


@dataclass(frozen=True)
class GraphLookAlike(LookAlike):
    """Edges of a directed graph, whose in-degrees and out-degrees are both skewed.

    The key of an edge is the vertex that the edge leads to; the sender is the vertex that the edge
    comes from. The paper only gives figures of in-degrees. Senders follow the same law as keys and
    are drawn independently.

    Parameters
    ----------
    like
        Name of the graph.

    Examples
    --------
    >>> batch = GraphLookAlike("slashdot0811", messages=6).batch(0, 6)
    >>> batch.ids.tolist()
    [33203, 18542, 839, 3, 16009, 10]
    >>> len(batch.senders)
    6
    """

    family: ClassVar[str] = "graph-look-alike"
    models: ClassVar[dict[str, LookAlikeModel]] = _MODELS
    fixed: ClassVar[dict[str, dict[str, str]]] = {
        f"{like}-like": {"like": like} for like in _MODELS
    }

    def _senders(self, start: int, stop: int) -> NDArray[np.uint64]:
        # The complement of the stream's seed gives a second random number per message.
        return self.hashes(self._draw(~self.random_seed, start, stop))

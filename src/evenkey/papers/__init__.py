"""What makes the papers' results again: experiments, data sets, peers, publish/subscribe by place.

Once it is imported, the groupings of `evenkey.papers.peers` and the streams of
`evenkey.papers.data_sets` are known by their names, as on the command line. Nothing else of
evenkey imports it.
"""

from __future__ import annotations

from evenkey.papers import data_sets, peers

__all__ = ["data_sets", "peers"]

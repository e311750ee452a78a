"""The papers' material: experiments, look-alike data sets, peers, geospatial publish/subscribe.

Import it to use the groupings of `evenkey.papers.peers` and the streams of
`evenkey.papers.data_sets` by name, as on the command line. Only the command line imports it.
"""

from __future__ import annotations

from evenkey.papers import data_sets, peers

__all__ = ["data_sets", "peers"]

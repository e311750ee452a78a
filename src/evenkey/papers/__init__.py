"""Code to reproduce the papers: experiments, data sets, peers, geospatial publish/subscribe.

Import this module to use the groupings of `evenkey.papers.peers` and the streams of
`evenkey.papers.data_sets` by name, as on the command line. Within evenkey, only the command line
imports this module.
"""

from __future__ import annotations

from evenkey.papers import data_sets, peers

__all__ = ["data_sets", "peers"]

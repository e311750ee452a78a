"""Splitters for data sets of the DKG paper: names, and rows of tables without a header."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages
from evenkey.core.streams.splits.columns import Columns
from evenkey.core.streams.splits.fields import Fields, read_counts
from evenkey.core.streams.splits.raw_or_json import RawOrJson
from evenkey.core.streams.splits.text import once_each

_SECONDS = r"^[0-9]+(\.[0-9]+)?$"


@dataclass(frozen=True)
class Country(RawOrJson):
    """Names of countries: the key is the line, without the blanks around it, or ``country``.

    Examples
    --------
    >>> lines = pa.array([b" Turkey ", b'{"country": "Peru"}'])
    >>> Country().split(lines).messages["key"].to_pylist()
    ['Turkey', 'Peru']
    """

    name: ClassVar[str] = "country"
    fields: ClassVar[Columns] = Columns("country")

    def _raw(self, text: pa.StringArray) -> RawMessages:
        return once_each(np.arange(len(text)), pc.utf8_trim_whitespace(text))


@dataclass(frozen=True)
class _Table(RawOrJson, ABC):
    """Lines of fields with a separator between them; class variables hold the index of each field.

    The time in a line is checked but not used: a message has the event time that is assigned to its
    line. JSON objects have the fields by name; their time is not read.
    """

    separator: ClassVar[str] = "\t"
    width: ClassVar[int]
    key: ClassVar[int]
    count: ClassVar[int | None] = None
    seconds: ClassVar[int | None] = None

    def _raw(self, text: pa.StringArray) -> RawMessages:
        records = pc.split_pattern(text, self.separator)
        found = Fields(records, self.width, f"the number of fields is {{}}, not {self.width}")
        fault, count = found.fault, pa.array(np.ones(len(text), dtype=np.int64))
        if self.seconds is not None:
            fault = pc.coalesce(fault, _bad_seconds(found.column(self.seconds)))
        if self.count is not None:
            count, bad = read_counts(found.column(self.count))
            fault = pc.coalesce(fault, bad)
        line = pa.array(np.arange(len(text)))
        return RawMessages(line, found.column(self.key), count, fault)


def _bad_seconds(texts: pa.StringArray) -> pa.StringArray:
    shown = pc.utf8_slice_codeunits(texts, 0, 80)
    bad = pc.binary_join_element_wise("the time '", shown, "' is not a number of seconds", "")
    return pc.if_else(pc.match_substring_regex(texts, _SECONDS), pa.scalar(None, pa.string()), bad)


@dataclass(frozen=True)
class TwitterTicker(_Table):
    r"""Ticker symbols in tweets: ``epochSeconds<TAB>ticker``; the key is the ticker.

    Examples
    --------
    >>> TwitterTicker().split(pa.array([b"1383289200\tAAPL"])).messages["key"].to_pylist()
    ['AAPL']
    """

    name: ClassVar[str] = "twitter-ticker"
    fields: ClassVar[Columns] = Columns("ticker")
    width: ClassVar[int] = 2
    seconds: ClassVar[int | None] = 0
    key: ClassVar[int] = 1


@dataclass(frozen=True)
class WikipediaPageviews(_Table):
    r"""Pages visited: ``epochSeconds<TAB>url``; the key is the page's name in the English wiki.

    The key of any other address is the address itself.

    Examples
    --------
    >>> line = b"1199145600.1\thttp://en.wikipedia.org/wiki/Ankara"
    >>> WikipediaPageviews().split(pa.array([line])).messages["key"].to_pylist()
    ['Ankara']
    """

    name: ClassVar[str] = "wikipedia-pageviews"
    fields: ClassVar[Columns] = Columns("page")
    width: ClassVar[int] = 2
    seconds: ClassVar[int | None] = 0
    key: ClassVar[int] = 1
    _PREFIX: ClassVar[str] = r"^http://en\.wikipedia\.org/wiki/"

    def _keys(self, texts: pa.StringArray) -> pa.StringArray:
        return pc.replace_substring_regex(texts, self._PREFIX, "")


@dataclass(frozen=True)
class WikipediaPageviewsByLang(_Table):
    """Visits by language: ``site page visits bytes``; the key is the site up to its first dot.

    Examples
    --------
    >>> split = WikipediaPageviewsByLang().split(pa.array([b"en.m Ankara 5 0", b"tr Ankara 5"]))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'en', 'count': 5}]
    >>> split.rejected["reason"].to_pylist()
    ['the number of fields is 3, not 4']
    """

    name: ClassVar[str] = "wikipedia-pageviews-by-lang"
    fields: ClassVar[Columns] = Columns("lang", "n")
    separator: ClassVar[str] = " "
    width: ClassVar[int] = 4
    key: ClassVar[int] = 0
    count: ClassVar[int | None] = 2

    def _keys(self, texts: pa.StringArray) -> pa.StringArray:
        return pc.replace_substring_regex(texts, r"(?s)\..*", "")


@dataclass(frozen=True)
class WikipediaClickstream(_Table):
    r"""Links followed: ``from<TAB>to<TAB>type<TAB>clicks``; the key is `to`, the count `clicks`.

    Examples
    --------
    >>> split = WikipediaClickstream().split(pa.array([b"Turkey\tAnkara\tlink\t12"]))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'Ankara', 'count': 12}]
    """

    name: ClassVar[str] = "wikipedia-clickstream"
    fields: ClassVar[Columns] = Columns("curr", "n")
    width: ClassVar[int] = 4
    key: ClassVar[int] = 1
    count: ClassVar[int | None] = 3

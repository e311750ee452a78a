"""The splitter for the DKG paper's tweets about an election."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.core.streams.splits.base import RawMessages, Splitter


@dataclass(frozen=True)
class TwitterElection(Splitter):
    """Tweets as JSON, one per line: each hashtag of a tweet is a message.

    A line is a tweet as Twitter sends it, or what the DKG paper's programs send to a topic: an
    object with the list ``hashtags``.

    If the hashtag contains one of `words`, in upper or lower case, the key is ``ElectionDay``.
    Otherwise the key is the hashtag as it is written. The words and this rule are those of the DKG
    paper's reference implementation, so ``us`` is also found in ``MusicMonday``. Empty hashtags are
    left out. Hashtags with a question mark are left out too, because a question mark stands for
    lost characters. A tweet without hashtags, or a notice with a field ``limit``, has no message
    and is not rejected.

    Examples
    --------
    >>> tweet = b'{"entities": {"hashtags": [{"text": "IVoted"}, {"text": "Sunny"}]}}'
    >>> lines = pa.array([tweet, b'{"limit": {}}', b'{"hashtags": ["Rainy"]}'])
    >>> TwitterElection().split(lines).messages["key"].to_pylist()
    ['ElectionDay', 'Sunny', 'Rainy']
    """

    name: ClassVar[str] = "twitter-election"
    hot: ClassVar[str] = "ElectionDay"
    words: ClassVar[tuple[str, ...]] = (
        "hilary",
        "hillary",
        "clinton",
        "withher",
        "wither",
        "voteher",
        "lockherup",
        "donald",
        "trump",
        "makeamericagreatagain",
        "americafirst",
        "vote",
        "voting",
        "poll",
        "election",
        "eleicoes",
        "eleccion",
        "electon",
        "electoral",
        "abdseçimleri",
        "president",
        "debate",
        "democrat",
        "republican",
        "america",
        "us",
        "usa",
    )

    def _find(self, text: pa.StringArray) -> RawMessages:
        lines: list[int] = []
        keys: list[str | None] = []
        faults: list[str | None] = []
        for place, line in enumerate(text.to_pylist()):
            tags, fault = _hashtags(line)
            whole = (tag for tag in tags if tag and "?" not in tag)
            found = [None] if fault else [self._key(tag) for tag in whole]
            lines += [place] * len(found)
            keys += found
            faults += [fault] * len(found)
        return RawMessages(
            pa.array(lines, pa.int64()),
            pa.array(keys, pa.string()),
            pa.array(np.ones(len(keys), dtype=np.int64)),
            pa.array(faults, pa.string()),
        )

    def _key(self, tag: str) -> str:
        low = tag.lower()
        return self.hot if any(word in low for word in self.words) else tag


def _hashtags(line: str) -> tuple[list[str], str | None]:
    """Return the hashtags of a tweet, or the reason why the tweet cannot be read."""
    try:
        tweet: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return [], f"not JSON: {error}"
    if isinstance(tweet, dict) and "limit" in tweet:
        return [], None
    sent = isinstance(tweet, dict) and isinstance(tweet.get("hashtags"), list)
    try:
        tags = tweet["hashtags"] if sent else [tag["text"] for tag in tweet["entities"]["hashtags"]]
    except (KeyError, TypeError):
        return [], "there is no field 'entities.hashtags[].text'"
    if not all(isinstance(tag, str) for tag in tags):
        return [], "a hashtag is not a text"
    if "\\u" in line and any("\ud800" <= char <= "\udfff" for tag in tags for char in tag):
        return [], "a hashtag has half a character (a lone surrogate)"
    return tags, None

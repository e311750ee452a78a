"""The DKG paper's raw formats, and lists of edges: lines are split, rejected or comments."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.streams.splits import SPLITTERS
from tests.streams import naive

WIKI = "http://en.wikipedia.org/wiki/"
NONE: list[str] = []

TABLES = {
    "twitter-ticker": {"separator": "\t", "width": 2, "seconds": 0, "key": 1},
    "wikipedia-pageviews": {"separator": "\t", "width": 2, "seconds": 0, "key": 1},
    "wikipedia-pageviews-by-lang": {"separator": " ", "width": 4, "key": 0, "count": 2},
    "wikipedia-clickstream": {"separator": "\t", "width": 4, "key": 1, "count": 3},
}
KEYS = {
    "wikipedia-pageviews": lambda key: key.removeprefix(WIKI),
    "wikipedia-pageviews-by-lang": lambda key: key.split(".")[0],
}
parts = st.sampled_from(["7", "1.5", "0", "-1", " 3 ", "a", "en.m", ".", WIKI, WIKI + "é", "", "#"])
rows = st.builds(str.join, st.sampled_from([" ", "\t", "  "]), st.lists(parts, max_size=5))
lines_of_text = st.lists(rows | st.text("#ab \t\v12.", max_size=6), max_size=20)


def split(name, lines):
    """Return messages as tuples, and rejected lines as {line: reason}."""
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    messages, rejected = SPLITTERS[name].split(pa.array(raw, pa.binary()))
    reasons = {row["line"]: row["reason"] for row in rejected.to_pylist()}
    return [tuple(row.values()) for row in messages.to_pylist()], reasons


def test_names():
    assert all(SPLITTERS[name].name == name for name in SPLITTERS)
    assert {*TABLES, "country", "edges", "twitter-election"} < set(SPLITTERS)


@pytest.mark.slow(1)
@pytest.mark.parametrize("name", TABLES)
@given(lines_of_text)
def test_tables(name, lines):
    messages, rejected = split(name, lines)
    expected = []
    for place, line in enumerate(lines):
        found = naive.split_table(line, **TABLES[name])
        key = found and KEYS.get(name, str)(found[0])
        if key:
            expected.append((place, key, found[1]))
    assert messages == expected
    assert sorted([*rejected, *(place for place, *_ in messages)]) == list(range(len(lines)))


@given(lines_of_text)
def test_edges(lines):
    messages, rejected = split("edges", lines)
    edges = {place: naive.split_edge(line) for place, line in enumerate(lines)}
    assert messages == [(place, edge[0], 1, edge[1]) for place, edge in edges.items() if edge]
    assert list(rejected) == [place for place, edge in edges.items() if edge is None]


tags = st.lists(
    st.sampled_from(["IVoted", "Sunny", "Trump2016", "a?b", "", "É", "USA"]), max_size=3
)
tweets = st.builds(
    lambda tags: json.dumps({"entities": {"hashtags": [{"text": tag} for tag in tags]}}), tags
)


@given(st.lists(tweets | st.sampled_from(['{"limit": 1}', "{}", "[]", "", "not"]), max_size=10))
def test_election(lines):
    messages, rejected = split("twitter-election", lines)
    hot = {"ivoted", "trump2016", "usa"}
    found = {place: naive.hashtags(line) for place, line in enumerate(lines)}
    assert list(rejected) == [place for place, tags in found.items() if tags is None]
    assert messages == [
        (place, "ElectionDay" if tag.lower() in hot else tag, 1)
        for place, tags in found.items()
        for tag in tags or NONE
        if tag and "?" not in tag
    ]


# All words of the reference implementation, each in a hashtag without the other words.
WORDS = [
    "Hilary",
    "Hillary2016",
    "CLINTON",
    "imWithHer",
    "wITHERed",
    "VoteHer",
    "LockHerUp",
    "Donald",
    "TRUMPtrain",
    "MakeAmericaGreatAgain",
    "AmericaFirst",
    "IVoted",
    "Voting2016",
    "Polls",
    "elections",
    "Eleicoes2016",
    "ELECCIONes",
    "Electon",
    "Electoral",
    "ABDseçimleri",
    "Presidents",
    "DebateNight",
    "Democrats",
    "Republicans",
    "AmericaS",
    "MusicMonday",
    "TeamUSA",
]


def test_words_of_the_election_and_the_case_of_others():
    others = ["Sunny", "MAGA", "É", "ÇOKGÜZEL", "NYC", "sunny"]
    lines = [json.dumps({"entities": {"hashtags": [{"text": tag}]}}) for tag in WORDS + others]
    messages, rejected = split("twitter-election", lines)
    assert [key for _, key, _ in messages] == ["ElectionDay"] * len(WORDS) + others
    assert len(WORDS) == 27
    assert not rejected


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("country", "  ", "the key is empty"),
        ("twitter-ticker", "1383289200 AAPL", "the number of fields is 1, not 2"),
        ("twitter-ticker", "soon\tAAPL", "the time 'soon' is not a number of seconds"),
        ("twitter-ticker", "7\t", "the key is empty"),
        ("twitter-ticker", b"7\t\xff", "not UTF-8: invalid start byte at byte 2"),
        ("wikipedia-pageviews", f"7\t{WIKI}", "the key is empty"),
        ("wikipedia-pageviews-by-lang", "en a b 1 0", "the number of fields is 5, not 4"),
        ("wikipedia-pageviews-by-lang", "en a 0 0", "the count '0' is not a whole number"),
        ("wikipedia-pageviews-by-lang", ".m a 1 0", "the key is empty"),
        ("wikipedia-clickstream", "a\tb\tlink\tn", "the count 'n' is not a whole number"),
        ("edges", "1 2 3", "the number of fields is 3, not 2"),
        ("edges", "", "the number of fields is "),
        ("twitter-election", "{", "not JSON: "),
        ("twitter-election", '{"text": "a"}', "there is no field 'entities.hashtags[].text'"),
        ("twitter-election", '{"entities": {"hashtags": [7]}}', "there is no field"),
        ("twitter-election", '{"entities": {"hashtags": null}}', "there is no field"),
        ("twitter-election", '{"entities": {"hashtags": [{"text": 7}]}}', "a hashtag is not"),
        (
            "twitter-election",
            '{"entities": {"hashtags": [{"text": "\\ud800"}]}}',
            "a hashtag has half a character",
        ),
    ],
)
def test_reasons(name, line, reason):
    messages, rejected = split(name, [line])
    assert messages == []
    assert list(rejected) == [0]
    assert rejected[0].startswith(reason)


@pytest.mark.parametrize(
    ("name", "line", "messages"),
    [
        ("country", "\tCôte d'Ivoire ", [(0, "Côte d'Ivoire", 1)]),
        ("twitter-ticker", "1383289200\tAAPL", [(0, "AAPL", 1)]),
        ("wikipedia-pageviews", f"1199145600.132\t{WIKI}Main_Page", [(0, "Main_Page", 1)]),
        (
            "wikipedia-pageviews",
            "1199145600\thttp://de.wikipedia.org/",
            [(0, "http://de.wikipedia.org/", 1)],
        ),
        ("wikipedia-pageviews-by-lang", "en.m.voy Main_Page 242 0", [(0, "en", 242)]),
        ("wikipedia-clickstream", "other-empty\tAnkara\texternal\t12", [(0, "Ankara", 12)]),
        ("edges", " 12\t 7", [(0, "7", 1, "12")]),
        ("edges", "# Nodes: 2", []),
        ("twitter-election", '{"limit": {"track": 5}}', []),
        ("twitter-election", '{"entities": {"hashtags": [{"text": "a?"}]}}', []),
    ],
)
def test_lines_as_they_are(name, line, messages):
    assert split(name, [line]) == (messages, {})


# What the DKG paper's programs send to a topic for a raw line, the last two as its Python programs.
SENT = [
    ("country", " Peru ", '{"country":"Peru"}'),
    ("twitter-ticker", "1383289200\tAAPL", '{"ticker":"AAPL","timestamp":1383289200}'),
    (
        "wikipedia-pageviews",
        f"1199145600\t{WIKI}Ankara",
        f'{{"page":"{WIKI}Ankara","timestamp":1199145600}}',
    ),
    (
        "wikipedia-pageviews-by-lang",
        "en.m Ankara 242 0",
        '{"lang":"en.m","page":"Ankara","n":242,"m":0}',
    ),
    (
        "wikipedia-clickstream",
        "other\tAnkara\tlink\t12",
        '{"prev":"other","curr":"Ankara","type":"link","n":12}',
    ),
    (
        "twitter-election",
        '{"text": "t", "entities": {"hashtags": [{"text": "IVoted"}, {"text": "Sunny"}]}}',
        '{"text":"t","hashtags":["ElectionDay","Sunny"],"timestamp":1478563200000}',
    ),
    (
        "twitter-ticker",
        "1383289200\tAAPL",
        '{"ticker": "AAPL", "timestamp": "1383289200"}',
    ),
    (
        "wikipedia-clickstream",
        "other\tAnkara\tlink\t12",
        '{"curr": "Ankara", "n": "12", "prev": "other", "type": "link"}',
    ),
]


@pytest.mark.parametrize(("name", "raw", "sent"), SENT)
def test_a_topic_of_the_papers_programs_has_the_messages_of_the_raw_lines(name, raw, sent):
    messages, rejected = split(name, [raw])
    assert messages
    assert not rejected
    assert split(name, [sent]) == (messages, {})


@given(st.data())
def test_raw_lines_and_objects_can_be_mixed(data):
    name = data.draw(st.sampled_from([*TABLES, "country"]))
    known = [line for each, *lines in SENT if each == name for line in lines]
    bad = ['{"n": 1}', "{", '{"curr": "a", "n": 0}', "1 2", "", "a\tb"]
    lines = data.draw(st.lists(st.sampled_from([*known, *bad]), max_size=8))
    alone = [split(name, [line]) for line in lines]
    assert split(name, lines) == (
        [(i, *rest) for i, (found, _) in enumerate(alone) for _, *rest in found],
        {i: reason for i, (_, reasons) in enumerate(alone) for reason in reasons.values()},
    )


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("country", '{"name": "Peru"}', "there is no field 'country'"),
        ("country", '{"country": ""}', "the key is empty"),
        ("twitter-ticker", '{"ticker": ["AAPL"]}', "field 'ticker' is not a single value"),
        ("twitter-ticker", '{"ticker": "AAPL"', "not JSON: "),
        ("wikipedia-pageviews", f'{{"page": "{WIKI}"}}', "the key is empty"),
        ("wikipedia-clickstream", '{"curr": "a"}', "the count null is not a whole number"),
        ("wikipedia-clickstream", '{"curr": "a", "n": 1.5}', "the count '1.5' is not a whole"),
        ("twitter-election", '{"hashtags": [7]}', "a hashtag is not a text"),
    ],
)
def test_reasons_for_objects(name, line, reason):
    messages, rejected = split(name, [line])
    assert messages == []
    assert rejected[0].startswith(reason)

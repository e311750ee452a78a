"""All error messages, collected into ``build/messages.txt``: each is one line."""

from __future__ import annotations

import re

from tools.messages import ROOT, listing, messages

# More than one line, double spaces, a full stop at the end, Latin abbreviations.
BAD = re.compile(r"\n|  |[^.][.!]$|\b(e\.g|i\.e|etc|via)\b")


def test_every_message_is_one_plain_line() -> None:
    found = messages()
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    (build / "messages.txt").write_text(listing(found), "utf-8")
    assert [str(each) for each in found if BAD.search(each.text)] == []


def test_messages_are_found_however_they_are_written() -> None:
    texts = [each.text for each in messages()]
    assert len(texts) > 500
    for beginning in (
        "workers = {count}: there must be at least 1 worker",
        "state = None: after a restart in real time",
        "must not be empty",
        "aggregators: {shown(name)} cannot name a result",
    ):
        assert any(text.startswith(beginning) for text in texts), beginning

"""Nothing in the repository uses a word that only we would understand."""

from __future__ import annotations

import pytest

from tools import wording


def test_a_listed_word_is_found_across_lines_and_in_names():
    word = wording.made("at once", "together", ["not at once"])
    found = [match[0] for match in word.matches("read at\n# once, never not at once")]
    assert found == ["at\n# once"]
    assert [*wording.made("told", "reported", []).matches("what_is_told, untoldy")] != []


@pytest.mark.slow(6)
def test_no_file_has_a_listed_word(capsys):
    assert wording.main([]) == 0, capsys.readouterr().out

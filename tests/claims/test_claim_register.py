"""The register's entries are complete, and their numbers and words are those of the papers."""

from __future__ import annotations

import os
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from evenkey.papers.claims import PAPERS, all_claims, documents, read_claims, register, words

CLAIMS = all_claims()
FOLDER = os.environ.get("EVENKEY_PAPERS")
FILES = {
    "pkg": "pkg-paper.txt",
    "dkg": "dkg-paper.txt",
    "joins": "stream-static-join-paper.txt",
    "reference": "dkg-reference-readme.txt",
}
NOT_QUOTED = {
    "dkg-80-percent-on-one": "80 % are 8 times the mean of ten machines",
    "dkg-80-percent-on-two": "40 % are 4 times the mean of ten machines",
    "dkg-collisions-as-one-hash": "80 % on one of ten workers",
    "dkg-cost-range": "the number of workers is 10",
    "dkg-keeps-few-keys": "as many entries as keys",
    "dkg-pkg-two-candidates": "two is a word",
    "dkg-two-to-n": "the number of workers is 10",
    **dict.fromkeys(
        (
            f"dkg-t3-{method}-{figure}"
            for method in ("kg", "pkg", "dkg")
            for figure in ("latency", "throughput")
        ),
        "ratios of the quoted numbers and SG's",
    ),
    "joins-example-migrations": "workers are counted from the left",
    "joins-example-overloaded": "three is a word",
    "pkg-above-two-over-n": "they follow from the formula and p1",
    "pkg-data-zf-p1": "they follow from the formula",
    "pkg-exactly-two-workers": "two is a word",
    "pkg-expected-candidates": "they follow from the formula",
    "pkg-four-different-candidates": "4! / 4^4",
    "pkg-imbalance-grows-linearly": "ten times the messages",
    "pkg-merged-once": "two is a word",
    "pkg-merged-w-less-one": "they are the values of W",
    "pkg-order-of-shuffle": "as many times the counters as workers",
    "pkg-shuffle-all-workers": "W is 10",
    "pkg-shuffle-counters-of-every-key": "the keys of the stream for each worker",
    "pkg-shuffle-error-linear": "as many times the error as workers",
    "pkg-shuffle-memory-linear": "as many times the counters as workers",
    "pkg-trees-shuffle-histograms": "they are the values of W",
    "pkg-t3-pkg": "ratios of the quoted numbers",
    "pkg-t3-sg": "ratios of the quoted numbers",
    "pkg-t3-kg": "ratios of the quoted numbers and PKG's",
    "pkg-t3-pkg-periods": "ratios of the quoted numbers",
    "pkg-t3-sg-periods": "ratios of the quoted numbers",
    "pkg-q4-four-choices": "four is a word",
    "pkg-q4-nine-choices": "nine is a word",
    "pkg-q5-memory-half": "half is a word",
    "reference-adaptive-limit": "there are 10 workers",
    "reference-half-skewed": "half of 80 % is 40 %",
    "reference-ideal-load": "they follow from the formula",
    "reference-pkg-two-candidates": "two is a word",
    "reference-table-shuffle": "there are 10 workers",
    "reference-threshold": "they follow from the formula",
    "reference-threshold-down": "they follow from the formula",
}
"""Claims whose numbers are not digits of the quotation, with the reason."""


def spaced(text: str) -> str:
    """Replace each run of white space by one space."""
    return re.sub(r"\s+", " ", text)


def stands_in(text: str, quote: str) -> bool:
    """Return whether all parts of a quotation stand in a text; “…” is between parts."""
    return all(spaced(part).strip() in text for part in quote.split("…"))


def test_ids_are_unique_and_name_their_document():
    ids = [claim.id for claim in CLAIMS]
    assert len(ids) == len(set(ids))
    for name in PAPERS:
        assert all(claim.id.startswith(f"{name}-") for claim in register()[name])


@pytest.mark.skipif(FOLDER is None, reason="EVENKEY_PAPERS is not set: the papers' texts")
@pytest.mark.parametrize("name", PAPERS)
def test_quotations_are_the_documents_words(name):
    text = spaced((Path(FOLDER or "") / FILES[name]).read_text("utf-8"))
    for claim in register()[name]:
        for quote in (claim.quote, *(place.quote for place in claim.also)):
            assert stands_in(text, quote), claim.id
    for each in documents()[name].left_out:
        assert stands_in(text, each.quote), each.quote


def test_no_place_is_listed_twice():
    places = [
        (name, at, quote)
        for name, claims in register().items()
        for claim in claims
        for at, quote in [*claim.also]
    ]
    assert len(places) == len(set(places))


@pytest.mark.parametrize("name", PAPERS)
def test_no_statement_is_a_claim_and_left_out(name):
    claims = {
        quote
        for claim in register()[name]
        for quote in (claim.quote, *(place.quote for place in claim.also))
    }
    left_out = [each.quote for each in documents()[name].left_out]
    assert len(left_out) == len(set(left_out))
    assert not claims & set(left_out)


def test_only_claims_that_are_judged_are_so_by_construction():
    assert all(claim.criteria for claim in CLAIMS if claim.by_construction)


def quoted(text: str) -> set[float]:
    """Read all numbers of a quotation, with their units; a comma may be one of thousands or not."""
    units = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    found = set()
    for digits, unit in re.findall(r"(\d+(?:[.,]\d+)*(?:e-\d+)?)([kMG]?)", text):
        for comma, point in (("", "."), (".", "."), ("", "")):
            plain = digits.replace(".", point).replace(",", comma)
            if plain.count(".") <= 1:
                found.add(float(plain) * units[unit])
    # Percentages are fractions in criteria, and table 2 of DKG counts in millions.
    return found | {each / 100 for each in found} | {each * 1e6 for each in found}


def test_numbers_of_criteria_stand_in_the_quotation():
    for claim in (each for each in CLAIMS if each.id not in NOT_QUOTED):
        numbers = quoted(claim.quote)
        for criterion in claim.criteria:
            if criterion.kind == "size" and criterion.word != words()["similar"]:
                # One stands for a balanced load, for one worker and for equality.
                for number in {*criterion.numbers} - {1.0}:
                    near = [each for each in numbers if abs(each - abs(number)) < 1e-9 * each]
                    assert near, (claim.id, number, numbers)


def test_three_quarters_of_the_settings_suffice_only_if_the_sentence_is_general():
    general = [claim for claim in CLAIMS if any(each.per == "generally" for each in claim.criteria)]
    assert general
    for claim in general:
        assert re.search(r"\b(often|generally|in general)\b", claim.quote), claim.id


def test_a_tolerance_excludes_errors_of_one_and_a_half():
    assert all(word.tolerance**2 < 1.5 for word in words().values())


def test_each_word_is_used():
    used = {criterion.word for claim in CLAIMS for criterion in claim.criteria}
    assert used == {*words().values()}


BASE = '[measures.a]\nexperiment = "e"\nwords = "w"\nkeys = ["k"]\ncolumns = ["c"]\n'
ENTRY = f'{BASE}[[claims]]\nid = "one"\nat = "section 1"\nquote = "q"\n'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("", "claim one: give one of measure, not_testable, not_run; it has []"),
        ('measure = "b"', "claim one: there is no measure 'b'; use one of ['a']"),
        ('measure = "a"\nword = "huge"', "claim one: word = 'huge' has no definition"),
        ('not_run = "x"\nworth = 1', "claim one: unknown field 'worth'; use one of ["),
    ],
)
def test_wrong_entries_are_named(fields, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_claims(ENTRY + fields)


def test_a_change_of_a_criterion_has_its_date_and_reason():
    change = '[[claims.changes]]\ndate = "2026-01-02"\nreason = "The table was misread."\n'
    (claim,) = read_claims(f'{ENTRY}not_run = "A run."\n{change}')
    assert claim.changes[0].reason == "The table was misread."


def test_a_change_of_several_claims_is_written_once():
    change = (
        '[[changes]]\nclaims = ["one"]\ndate = "2026-01-02"\nreason = "The table was misread."\n'
    )
    entry = f'{ENTRY}not_run = "A run."\n'
    (claim,) = read_claims(entry + change)
    assert [each.reason for each in claim.changes] == ["The table was misread."]
    with pytest.raises(ValueError, match="there is no claim 'b' in this file"):
        read_claims(entry + change.replace('"one"', '"b"'))


@pytest.mark.parametrize("name", FILES)
def test_every_measure_is_that_of_a_claim(name):
    file = resources.files("evenkey.papers.claims") / f"{name}.toml"
    given = tomllib.loads(file.read_text("utf-8"))
    measures = [each.get("measure", []) for each in given["claims"]]
    used = {name for each in measures for name in ([each] if isinstance(each, str) else each)}
    assert set(given["measures"]) == used

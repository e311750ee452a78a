"""The index of the decision records is complete, and each record has valid metadata."""

from __future__ import annotations

import re

import pytest

from tools.decisions import FOLDER, INDEX, TOPICS, page, records, status_of

HEAD = "# 001: Title\n\nTopic: Kafka.\n"


def written(folder, text, name="001-title.md"):
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return records(folder)


def test_the_index_is_the_one_that_the_records_make():
    assert INDEX.read_text("utf-8") == page(), "run `make decisions`"


def test_every_record_has_a_number_of_its_own_a_topic_and_a_status():
    known = records()  # raises for a record without a topic or with an unknown status
    assert len(known) == len({each.number for each in known})
    assert {each.topic for each in known} == {*TOPICS}


def test_other_records_in_a_status_exist_and_are_linked_by_their_number():
    names = {each.number: each.path.removeprefix("archive/") for each in records()}
    for record in records():
        status = re.search(r"^Status: .+$", (FOLDER / record.path).read_text("utf-8"), re.MULTILINE)
        for number, target in re.findall(r"\[(\d{3})\]\(([^)]+)\)", status[0] if status else ""):
            assert target.split("/")[-1] == names[number], record.path


def test_every_link_of_records_and_index_leads_to_a_file():
    for file in [INDEX, *(FOLDER / each.path for each in records())]:
        for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", file.read_text("utf-8")):
            assert "://" in target or (file.parent / target).exists(), f"{file.name}: {target}"


def test_a_superseded_record_names_one_that_is_in_force():
    states = {each.number: each.state for each in records()}
    for record in records():
        if record.state == "superseded":
            assert [states[number] for number in record.others] == ["in force"], record.path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# 001: Title\n\nText.\n", "must begin with"),
        ("# 002: Title\n\nTopic: Kafka.\n\nText.\n", "must begin with"),
        ("# 001: Title\n\nTopic: Cooking.\n\nText.\n", "topic 'Cooking' must be one of Groupings"),
        (f"{HEAD}Status: accepted.\n\nText.\n", "'accepted' is no status"),
        (f"{HEAD}Status: superseded by 002.\n\nText.\n", "'superseded by 002' is no status"),
        (f"{HEAD}Status: obsolete: it went.\n\nText.\n", "belong in archive/"),
    ],
)
def test_a_record_that_is_not_as_it_must_be_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"001-title.md: .*{re.escape(message)}"):
        written(tmp_path, text)


def test_a_record_in_force_does_not_lie_in_the_archive(tmp_path):
    with pytest.raises(ValueError, match=r"archive/001-title\.md: records that are superseded"):
        written(tmp_path, f"{HEAD}\nText.\n", "archive/001-title.md")


def test_a_record_is_read(tmp_path):
    (record,) = written(
        tmp_path, f"{HEAD}Status: obsolete: it went.\n\nText.\n", "archive/001-title.md"
    )
    assert (record.number, record.title, record.topic) == ("001", "Title", "Kafka")
    assert (record.state, record.gone, record.archived) == ("obsolete", "it went", True)


def test_several_amendments_are_read():
    links = "[010](010-a.md), [020](020-b.md) and [030](archive/030-c.md)"
    assert status_of(f"in force, amended by {links}") == ("in force", ("010", "020", "030"), "")

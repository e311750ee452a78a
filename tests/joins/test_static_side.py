"""The static side in a directory: a join uses the given rows, or there is an error."""

from __future__ import annotations

import shutil

import pytest
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.joins import Mode, StaticStore, balanced_join, refresh
from evenkey.joins.balance.epoch_log import EpochLog


@pytest.fixture(scope="module")
def stream(session):
    return session.range(40).select((F.col("id") % 4).alias("k"), F.col("id").alias("n"))


def side(session, version, rows=4):
    """Make a static side with its version in every row."""
    return session.range(rows).select(F.col("id").alias("k"), F.lit(version).alias("version"))


def joined(stream, static, directory, **options):
    """Join, and return the versions of the static rows that were used."""
    result = balanced_join(stream, static, "k", workers=2, state=directory, **options)
    return sorted({row.version for row in result.collect()})


@pytest.mark.soak(4)
@pytest.mark.parametrize("mode", ["static-strl", "static-stal", "dynamic-db-stal"])
def test_a_directory_made_anew_in_one_session_joins_the_new_rows(session, stream, mode, tmp_path):
    directory = tmp_path / "join"
    for version in (1, 2, 3):
        shutil.rmtree(directory, ignore_errors=True)
        assert joined(stream, side(session, version), directory, **vars(Mode.parse(mode))) == [
            version
        ]
        assert StaticStore(directory / "static").versions() == [1]


@pytest.mark.slow(4)
def test_what_was_joined_before_the_directory_was_made_anew_fails(session, stream, tmp_path):
    # Nothing is cached here, because a cache could still contain the previous rows.
    old = balanced_join(
        stream,
        side(session, 1),
        "k",
        workers=2,
        state=tmp_path / "join",
        balance=None,
        cache_static=False,
    )
    assert {row.version for row in old.collect()} == {1}
    shutil.rmtree(tmp_path / "join")
    assert joined(stream, side(session, 2), tmp_path / "join") == [2]
    with pytest.raises(Exception, match=r"version 1 \(\w{32}\) of the static data.*no longer in"):
        old.collect()


@pytest.mark.slow(6)
def test_another_static_side_is_refused_replaced_or_left_out_as_is_said(session, stream, tmp_path):
    first, second = side(session, 1), side(session, 2)
    assert joined(stream, first, tmp_path) == [1]
    assert joined(stream, first.repartition(3).orderBy("k"), tmp_path) == [1]
    with pytest.raises(ConfigurationError, match="both have 4 rows, but not the same ones"):
        joined(stream, second, tmp_path)
    with pytest.raises(ConfigurationError, match=r"it has 4 rows, the one given 3\).*reuse"):
        joined(stream, first.where("k > 0"), tmp_path)
    assert joined(stream, second, tmp_path, if_changed="reuse") == [1]
    assert StaticStore(tmp_path / "static").versions() == [1]
    assert joined(stream, second, tmp_path, if_changed="refresh") == [2]
    assert joined(stream, second, tmp_path, if_changed="refresh") == [2]
    assert joined(stream, second, tmp_path) == [2]
    assert StaticStore(tmp_path / "static").versions() == [1, 2]
    # The second side has replaced the first, so a join with the first is an error.
    with pytest.raises(ConfigurationError, match="another static side"):
        joined(stream, first, tmp_path)


@pytest.mark.soak(3)
def test_after_a_refresh_the_program_of_before_goes_on_with_the_new_rows(session, stream, tmp_path):
    sides = [side(session, version) for version in range(4)]
    assert joined(stream, sides[0], tmp_path) == [0]
    assert [refresh(each, tmp_path) for each in sides[1:3]] == [2, 3]
    for each in sides[:3]:
        assert joined(stream, each, tmp_path) == [2]
    with pytest.raises(ConfigurationError, match="another static side"):
        joined(stream, sides[3], tmp_path)
    assert joined(stream, sides[0], tmp_path, if_changed="refresh") == [0]


@pytest.mark.soak(5)
def test_without_a_fingerprint_nobody_can_say_whether_it_is_the_same(session, stream, tmp_path):
    first = side(session, 1)
    assert joined(stream, first, tmp_path, if_changed="reuse") == [1]
    with pytest.raises(ConfigurationError, match="written with 'reuse'"):
        joined(stream, first, tmp_path)
    assert refresh(side(session, 2), tmp_path) == 2
    assert joined(stream, first, tmp_path, if_changed="reuse") == [2]


@pytest.mark.slow(4)
def test_other_columns_and_words_are_refused(session, stream, tmp_path):
    first = side(session, 1)
    joined(stream, first, tmp_path)
    wide = first.withColumn("version", F.col("version").cast("bigint"))
    for way in ("error", "refresh", "reuse"):
        with pytest.raises(ConfigurationError, match=r"version int and are now .*version bigint"):
            joined(stream, wide, tmp_path, if_changed=way)
    with pytest.raises(ConfigurationError, match="if_changed 'ignore'"):
        joined(stream, first, tmp_path, if_changed="ignore")


@pytest.mark.slow(5)
def test_a_restarted_query_repeats_an_epoch_with_the_version_that_it_had(
    session, stream, stream_of_files, run_to_end, tmp_path
):
    directory = tmp_path / "join"
    source = stream_of_files(stream, epochs=2)

    def restarted():
        return balanced_join(source, side(session, 1), "k", workers=2, state=directory)

    def stop_at(epoch):
        if epoch == 1:
            message = "stopped"
            raise RuntimeError(message)

    with pytest.raises(Exception, match="stopped"):
        run_to_end(restarted(), stop_at)
    refresh(side(session, 2), directory)
    parts = run_to_end(restarted())
    assert {row["version"] for row in parts[1]} == {1}
    (log,) = map(EpochLog, (directory / "epochs").iterdir())
    plan = log.plan(1)
    assert plan
    assert plan.version == StaticStore(directory / "static").version(1)

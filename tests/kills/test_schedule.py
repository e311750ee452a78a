"""The schedule of kills depends on its seed alone, and any prefix of it is balanced."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tests.kills.schedule import KILLS_A_RUN, KINDS, KINDS_OF_OTHERS, run_of, runs


def first(seed, count):
    return list(itertools.islice(runs(seed), count))


def test_a_run_can_be_played_alone():
    assert [run_of(7, number) for number in range(20)] == first(7, 20)
    assert first(7, 20) != first(8, 20)


def test_the_first_runs_have_a_command_a_join_and_a_program_of_a_user():
    assert [run.subject for run in first(1, 3)] == ["pipeline", "aggregate", "join"]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 5, 9, 20, 40])
def test_any_prefix_has_balanced_kinds(seed, count):
    runs = first(seed, count)
    for kinds, guarded in ((KINDS, True), (KINDS_OF_OTHERS, False)):
        chosen = [run for run in runs if (run.subject in {"pipeline", "join"}) == guarded]
        drawn = Counter(kill.kind for run in chosen for kill in run.kills)
        assert set(drawn) <= set(kinds)
        assert max(drawn[kind] for kind in kinds) - min(drawn[kind] for kind in kinds) <= 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_only_the_last_kill_of_a_pipeline_comes_while_it_closes(seed):
    for run in first(seed, 40):
        assert len(run.kills) == KILLS_A_RUN
        places = [place for place, kill in enumerate(run.kills) if kill.phase == "closing"]
        assert places in ([], [KILLS_A_RUN - 1])
        assert not places or run.subject == "pipeline"


def test_a_hundred_kills_have_every_choice_twice_or_so():
    runs = first(1, 100 // KILLS_A_RUN)
    pipelines = [run for run in runs if run.subject == "pipeline"]
    assert len({run.form for run in pipelines}) == 8
    assert len({run.grouping for run in runs} - {""}) == 12
    assert len({run.aggregator for run in runs} - {""}) == 7
    assert {run.pipeline for run in runs} - {""} == {"sps", "spis", "rihps", "risps"}
    assert len({run.mode for run in runs} - {""}) == 6

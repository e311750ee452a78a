"""What Spark itself offers, by its version and settings, for tasks whose rows are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkey.reports.diagnosis.after_remedies import Work
from evenkey.reports.diagnosis.causes import cause_of
from evenkey.reports.diagnosis.reading import spark_settings as settings
from evenkey.reports.diagnosis.reading.spark_application import Execution, Task
from evenkey.reports.diagnosis.reading.spark_plans import keyed_reads, node_of
from evenkey.reports.diagnosis.remedies import remedies_for
from evenkey.reports.diagnosis.spark_answers import answers_of_spark, notes_of_spark
from evenkey.reports.diagnosis.stage_runs import Run, Writing
from evenkey.reports.diagnosis.thresholds import Thresholds
from tests.diagnosis.writing import adaptive, applied, exchange, node

MIB = 1 << 20
NULL_OF_8 = 42 % 8


def join(kind="Inner", partitions=4):
    left, right = (exchange(n, f"customer#{n}L", partitions=partitions) for n in (7, 8))
    return node("SortMergeJoin", f"SortMergeJoin [customer#7L], [customer#8L], {kind}", left, right)


def run_of(plan, rows, *, sizes=(None, None), mebibytes=0.001, given=None, **of_tasks):
    """Make a run whose tasks take 10 ms a row and read so many MiB in all."""
    (read,) = keyed_reads(node_of(plan))
    total = sum(rows)
    tasks = tuple(
        Task(
            index, float(index), 0.01 * each, each, round(mebibytes * MIB * each / total),
            **{name: values[index] for name, values in of_tasks.items()},
        )
        for index, each in enumerate(rows)
    )  # fmt: skip
    sides = (tuple(rows), (0,) * len(rows)) if len(read.exchanges) > 1 else (tuple(rows),)
    writing = tuple(Writing(0.1, 6, size) for size in sizes[: len(read.exchanges)])
    execution = Execution(0, node_of(plan), "", settings=given or {})
    return Run(0, execution, read, tasks, tuple(rows), sides, None, writing)


def answers(run, cause="skewed keys", version="4.3.0", slots=4):
    return answers_of_spark(run, cause, version, slots, stream=False)


HOT = [100, 100, 1700, 100]


def test_a_small_side_is_broadcast():
    (answer,) = answers(run_of(join(), HOT, sizes=(500 * MIB, 3 * MIB)))
    assert answer.code == 'left.join(F.broadcast(right), ["customer"], "inner")'
    assert (answer.by, answer.certainty) == ("spark", "high")
    assert answer.condition == "the right side has only 3.0 MiB:"
    (answer,) = answers(run_of(join(), HOT, sizes=(30 * MIB, 500 * MIB)))
    assert answer.code == 'F.broadcast(left).join(right, ["customer"], "inner")'
    assert answer.certainty == "medium"


@pytest.mark.parametrize(
    ("kind", "sizes", "code"),
    [
        ("LeftOuter", (3, 500), None),
        ("LeftOuter", (500, 3), 'left.join(F.broadcast(right), ["customer"], "left")'),
        ("RightOuter", (3, 500), 'F.broadcast(left).join(right, ["customer"], "right")'),
        ("RightOuter", (500, 3), None),
        ("LeftAnti", (500, 3), 'left.join(F.broadcast(right), ["customer"], "anti")'),
        ("FullOuter", (3, 3), None),
        ("Inner", (300, 300), None),
    ],
)
def test_only_the_side_that_spark_can_broadcast_counts(kind, sizes, code):
    found = answers(run_of(join(kind), HOT, sizes=[each * MIB for each in sizes]))
    assert [each.code for each in found] == ([] if code is None else [code])


def test_settings_say_which_partitions_adaptive_execution_splits():
    (answer,) = answers(run_of(join(), HOT, mebibytes=200))
    assert answer.how == "adaptive"
    assert answer.code.splitlines() == [
        f'spark.conf.set("{settings.SPLIT_BYTES}", "{50 * MIB}")',
        f'spark.conf.set("{settings.PIECE_BYTES}", "{50 * MIB}")',
    ]
    assert not answers(run_of(join("FullOuter"), HOT, mebibytes=200))  # Spark splits no full join
    assert not answers(run_of(join(), HOT, mebibytes=10))  # too few bytes for its thresholds
    assert not answers(run_of(join(), HOT, mebibytes=200), version="2.4.8")
    off = {settings.ADAPTIVE: "false"}
    assert f'"{settings.ADAPTIVE}", "true"' in (
        answers(run_of(join(), HOT, mebibytes=4000, given=off))[0].code
    )
    # Partitions that are large enough were split if they could be.
    assert not answers(run_of(join(), HOT, mebibytes=4000))


def test_pieces_are_at_most_as_many_as_the_tasks_that_wrote_them():
    run = run_of(join(), HOT, mebibytes=200)
    (answer,) = answers(run)
    work = Work.of([run], 4)
    assert work.seconds == pytest.approx(17)
    # 170 MiB are split into four pieces of at most 50 MiB: seven tasks on four slots.
    assert work.predicted(answer) == pytest.approx(1 + 4.25)


@pytest.mark.parametrize(
    ("kind", "plan", "cause"),
    [
        ("left outer", join("LeftOuter", 8), "null keys"),
        ("anti", join("LeftAnti", 8), "null keys"),
        ("inner", join("Inner", 8), "skewed keys"),  # Spark filters null keys out
        ("right outer", join("RightOuter", 8), "skewed keys"),  # the left side keeps no nulls
        ("groups", applied(partitions=8), "null keys"),
        ("few partitions", applied(partitions=4), "skewed keys"),
    ],
)
def test_null_keys_are_known_by_their_partition(kind, plan, cause):
    del kind
    partitions = 4 if plan == applied(partitions=4) else 8
    rows = [100] * partitions
    rows[NULL_OF_8] = 900
    assert cause_of(Work.of([run_of(plan, rows)], 4), Thresholds()) == cause
    elsewhere = [100] * partitions
    elsewhere[NULL_OF_8 + 1] = 900
    assert cause_of(Work.of([run_of(plan, elsewhere)], 4), Thresholds()) == "skewed keys"


def test_a_filter_leaves_no_nulls():
    below = node("Filter", "Filter isnotnull(customer#1L)", node("Range"))
    rows = [100, 100, 900, *[100] * 5]
    work = Work.of([run_of(applied(partitions=8, below=below), rows)], 4)
    assert cause_of(work, Thresholds()) == "skewed keys"


def test_spark_spreads_null_keys_from_4_3_on():
    rows = [100] * 200
    rows[42] = 9000
    run = run_of(join("LeftOuter", 200), rows)
    (answer,) = answers(run, "null keys")
    assert answer.code == f'spark.conf.set("{settings.SPREAD_NULLS}", "true")'
    assert answer.certainty == "high"
    (apart,) = answers(run, "null keys", version="4.2.0")
    assert "unionByName" in apart.code
    on = run_of(join("LeftOuter", 200), rows, given={settings.SPREAD_NULLS: "true"})
    assert answers(on, "null keys") == []
    assert answers(run_of(join("FullOuter", 200), rows), "null keys", version="4.2.0") == []


def merged(kind, rows):
    """Make a run of a join whose 200 partitions adaptive execution merged."""
    return run_of(adaptive(join(kind, 200)), rows)


def test_null_keys_are_possible_where_adaptive_execution_merged_partitions():
    run = merged("LeftOuter", HOT)
    assert cause_of(Work.of([run], 4), Thresholds()) == "skewed keys"
    (answer,) = answers(run)
    assert answer.condition == (
        "if most rows of the hottest task have a null key, which matches nothing:"
    )
    assert answer.code == f'spark.conf.set("{settings.SPREAD_NULLS}", "true")'
    assert (answer.by, answer.certainty) == ("spark", "low")
    (apart,) = answers(run, version="4.2.0")
    assert "unionByName" in apart.code
    assert apart.condition == answer.condition
    on = replace(run, execution=replace(run.execution, settings={settings.SPREAD_NULLS: "true"}))
    assert answers(on) == []


@pytest.mark.parametrize("kind", ["Inner", "RightOuter", "LeftSemi"])
def test_a_side_that_keeps_no_null_keys_is_skewed(kind):
    assert answers(merged(kind, HOT)) == []


def test_merged_groups_get_no_answer_for_null_keys():
    assert answers(run_of(adaptive(applied(partitions=200)), HOT)) == []


def test_a_slow_executor_is_found_by_its_pace():
    run = run_of(applied(partitions=8), [100] * 8, executor=["1", "2"] * 4)
    assert cause_of(Work.of([run], 4), Thresholds()) == "none"
    tasks = tuple(replace(each, seconds=3.0 if each.executor == "2" else 1.0) for each in run.tasks)
    slow = replace(run, tasks=tasks)
    assert cause_of(Work.of([slow], 4), Thresholds()) == "slow executor"
    (answer,) = answers(slow, "slow executor")
    assert Work.of([slow], 4).predicted(answer) == pytest.approx(2)  # two waves of one second
    one = replace(run, tasks=(replace(run.tasks[0], seconds=30.0), *run.tasks[1:]))
    assert cause_of(Work.of([one], 4), Thresholds()) == "slow task"


def test_more_partitions_where_several_keys_share_a_task():
    run = run_of(applied(), [500, 300, 150, 250])
    (answer,) = answers(run)
    assert answer.code == f'spark.conf.set("{settings.PARTITIONS}", "16")'
    assert answers(run_of(applied(), HOT)) == []  # one key is too hot for any task


def test_few_tasks_get_partitions():
    (answer,) = answers(run_of(applied(partitions=2), [500, 500]), "few tasks", slots=8)
    assert answer.code == f'spark.conf.set("{settings.PARTITIONS}", "16")'
    assert answer.certainty == "low"
    (answer,) = answers(run_of(adaptive(applied(partitions=2)), [1000]), "few tasks", slots=8)
    assert answer.code.splitlines() == [
        f'spark.conf.set("{settings.COALESCE}", "false")',
        f'spark.conf.set("{settings.PARTITIONS}", "16")',
    ]
    numbered = applied(partitions=2, origin="REPARTITION_BY_NUM")
    (answer,) = answers(run_of(numbered, [500, 500]), "few tasks", slots=8)
    assert answer.code == 'df.repartition(16, "customer")'


def test_columns_with_a_dollar_sign_stay_as_they_are():
    sides = "[customer#7L], [customer#8L], [at$utc#2L], [$at#3L]"
    text = f"SortMergeAsOfJoin {sides}, (at$utc#2L >= $at#3L), (at$utc#2L - $at#3L), Inner"
    (read,) = keyed_reads(node_of(node("SortMergeAsOfJoin", text, exchange(7), exchange(8))))
    (remedy,) = remedies_for(read, 4, stream=False)
    assert remedy.code == (
        'eks.asof_join(left, right, ["customer"], F.expr("at$utc"), F.expr("$at"), "inner", '
        "workers=4)"
    )
    (read,) = keyed_reads(node_of(applied(key="customer$key#1L")))
    assert "customer$key" in remedies_for(read, 4, stream=False)[0].condition


def test_an_as_of_join_is_a_note_without_a_gain():
    plan = node("FlatMapCoGroupsInPandas", "", exchange(7), exchange(8))
    run = run_of(plan, HOT)
    assert "as-of join" in notes_of_spark(run, "4.3.0")[0]
    assert notes_of_spark(run, "4.2.0") == []

"""Findings in logs whose rows are known."""

from __future__ import annotations

import weakref
from dataclasses import replace

import pytest

from evenkey.reports.diagnosis import Application, diagnose
from evenkey.reports.diagnosis.judging import find
from evenkey.reports.diagnosis.reading.log_reader import read_log
from tests.diagnosis.writing import Log, adaptive, applied, exchange, node, skewed


def findings(tmp_path, log, **limits):
    (one,) = diagnose(log.write(tmp_path / "log"), **limits).applications
    return one.findings


def only(tmp_path, log, **limits):
    (finding,) = findings(tmp_path, log, **limits)
    return finding


def test_a_skewed_stage_is_named_with_its_figures(tmp_path):
    found = only(tmp_path, skewed())
    assert found.verdict == "change"
    assert found.fullness["rows"] == 700 / 250
    assert found.fullness["bytes"] == 700 / 250
    assert found.fullness["seconds"] == pytest.approx(7.5 / (4 * 0.5 + 10) * 4)
    assert found.keys == ("customer",)
    assert found.run.execution.call_site == "collect at /srv/orders.py:17"
    assert found.work.seconds == pytest.approx(7.5)
    assert found.work.skew_cost == pytest.approx(7.5 - 12 / 4)
    assert found.hottest_share == pytest.approx(0.6)
    split, whole = found.changes
    assert (split.remedy.how, whole.remedy.how) == ("split", "whole")
    assert split.seconds == pytest.approx(0.5 + 2.5)
    assert split.gain == pytest.approx(2.5)
    assert whole.seconds == pytest.approx(0.5 + 6.0)  # the hottest key's own 600 rows
    assert split.remedy.code.startswith('eks.groupBy(df, "customer", workers=4).applyInPandas(')


def test_a_line_has_gain_and_saving_of_the_same_change(tmp_path):
    found = only(tmp_path, skewed())
    split, whole = found.changes
    unsure = replace(found, changes=(replace(split, confidence="low"), whole))
    assert unsure.saved == pytest.approx(4.5)
    assert unsure.line.endswith(": 1.2x faster, 1.0 s saved (skewed keys)")


@pytest.mark.parametrize(
    ("partitions", "first"),
    [(8, "split"), (16, "drop"), (200, "drop")],
)
def test_what_is_least_certain_comes_last(tmp_path, partitions, first):
    """With few partitions, a hot key is in that of null by chance: evenkey's change then helps."""
    log = Log()
    log.execution(0, applied(partitions=partitions))
    rows = [10] * partitions
    rows[42 % partitions] = 900
    log.stage(0, rows, [each / 100 for each in rows])
    found = only(tmp_path, log)
    assert found.cause == "null keys"
    assert found.changes[0].remedy.how == first
    assert (f"one key in {partitions} is in this task" in found.reason) == (partitions < 100)
    assert found.reason.startswith(f"about {found.changes[0].gain:.1f}x faster")


def test_two_tasks_do_not_show_how_hot_a_key_is(tmp_path):
    log = Log()
    log.execution(0, applied(partitions=2))
    log.stage(0, [100, 900], [1, 9])
    found = only(tmp_path, log)
    assert [each.remedy.how for each in found.changes] == ["split", "whole", "partitions"]
    assert "the log of 2 tasks does not show how hot a key is" in found.reason


def test_the_plan_that_ran_is_the_newest(tmp_path):
    log = Log()
    log.execution(0, applied(counter=1, partitions=200))
    log.replanned(0, adaptive(applied(counter=7, partitions=200)))
    log.stage(0, [10, 900, 10, 80], [0.1, 9, 0.1, 0.8])
    found = only(tmp_path, log)
    assert found.adaptive == ("coalesced",)
    assert found.run.read.exchanges[0].partitions == 200
    assert found.fullness["rows"] == 3.6


def test_stages_that_spark_combines_are_not_reported(tmp_path):
    partial = node("HashAggregate", "HashAggregate(keys=[k#1], functions=[partial_count(1)])")
    log = Log()
    log.execution(
        0,
        node(
            "HashAggregate",
            "HashAggregate(keys=[k#1], functions=[count(1)])",
            exchange(7, "k#1", node("WholeStageCodegen (1)", "", partial)),
        ),
    )
    log.stage(0, [10, 700, 10, 10], [0.1, 7, 0.1, 0.1])
    found = only(tmp_path, log)
    assert (found.combined, found.verdict, found.changes) == (True, "combined", ())


def test_an_aggregate_behind_a_repartition_is_not_combined_before_it(tmp_path):
    partial = node(
        "HashAggregate",
        "HashAggregate(keys=[k#1], functions=[partial_count(1)])",
        exchange(7, "k#1", origin="REPARTITION_BY_COL"),
    )
    log = Log()
    log.execution(0, node("HashAggregate", "HashAggregate(keys=[k#1])", partial))
    log.stage(0, [10, 700, 10, 10], [0.1, 7, 0.1, 0.1])
    found = only(tmp_path, log)
    assert not found.combined
    assert found.verdict == "none"
    assert "repartition" in found.reason


def test_a_slow_task_with_balanced_rows_is_not_slow_because_of_keys(tmp_path):
    log = Log()
    log.execution(0, applied())
    log.stage(0, [250, 260, 240, 250], [1, 1, 9, 1])
    found = only(tmp_path, log)
    assert found.verdict == "balanced"
    assert found.work.skew_cost == pytest.approx(6.0)
    assert "not because of its keys" in found.reason


def test_skew_that_costs_no_time_is_not_named(tmp_path):
    log = Log()
    log.execution(0, applied())
    log.stage(0, [100, 700, 100, 100], [5, 5.1, 5, 5])
    assert only(tmp_path, log).verdict == "small"
    short = skewed(seconds_a_row=0.0005)
    assert only(tmp_path, short).verdict == "small"
    assert only(tmp_path, short, least_seconds=0.1, least_gain=1.2).verdict == "change"


def test_epochs_of_one_plan_are_one_finding(tmp_path):
    log = Log()
    for epoch in range(3):
        log.execution(epoch, applied(counter=70 + epoch), f"query\nbatch = {epoch}")
        log.stage(epoch, [100, 700, 100, 100], [1, 7, 1, 1], query="q", counter=70 + epoch)
    log.execution(3, applied(counter=80), "query of another")
    log.stage(3, [100, 700, 100, 100], [1, 7, 1, 1], query="other", counter=80)
    found = findings(tmp_path, log)
    assert sorted(len(each.work.runs) for each in found) == [1, 3]
    most = max(found, key=lambda each: len(each.work.runs))
    assert most.work.seconds == pytest.approx(21)
    assert most.fullness["rows"] == pytest.approx(2.8)
    assert most.to_json()["stages"] == [0, 1, 2]


def test_the_sides_of_a_join_are_distinguished(tmp_path):
    join = node(
        "SortMergeJoin",
        "SortMergeJoin [customer#1L], [customer#5L], Inner",
        node("Sort", "", exchange(7)),
        node("Sort", "", exchange(8, "customer#5L")),
    )
    log = Log()
    log.execution(0, node("Project", "", join))
    log.stage(
        0,
        [{7: 100, 8: 25}, {7: 700, 8: 25}, {7: 100, 8: 25}, {7: 100, 8: 25}],
        [1.25, 7.25, 1.25, 1.25],
    )
    found = only(tmp_path, log)
    assert found.run.sides == ((100, 700, 100, 100), (25, 25, 25, 25))
    assert found.run.read.join_type == "Inner"
    (change,) = found.changes
    assert change.remedy.how == "split"
    assert change.seconds == pytest.approx(2.5 + 0.25)  # a quarter of each side
    assert change.remedy.code == 'eks.join(left, right, ["customer"], "inner", workers=4)'


def test_joins_of_all_kinds_are_divided(tmp_path):
    kinds = {"LeftOuter": "left", "LeftAnti": "anti", "RightOuter": "right", "FullOuter": "full"}
    for kind, how in kinds.items():
        join = node(
            "ShuffledHashJoin",
            f"ShuffledHashJoin [customer#1L], [id#5L], {kind}, BuildRight",
            exchange(7),
            exchange(8, "id#5L"),
        )
        log = Log()
        log.execution(0, join)
        log.stage(0, [{7: 50, 8: 50}] * 3 + [{7: 700, 8: 700}], [1, 1, 1, 14])
        (change,) = only(tmp_path, log).changes
        assert change.remedy.code == f'eks.join(left, right, ["customer"], "{how}", workers=4)'
        assert change.remedy.condition == "if the key has the same name on both sides:"


def test_both_sides_of_one_reused_exchange_are_counted_once(tmp_path):
    original = exchange(7)
    reused = node("ReusedExchange", f"ReusedExchange [customer#5L], {original['simpleString']}")
    join = node("SortMergeJoin", "SortMergeJoin [a#1], [a#5], Inner", original, reused)
    log = Log()
    log.execution(0, join)
    log.stage(0, [100, 700, 100, 100], [1, 7, 1, 1])
    found = only(tmp_path, log)
    assert found.run.rows == (100, 700, 100, 100)
    assert len(found.run.read.exchanges) == 2


def test_a_union_has_tasks_of_several_exchanges(tmp_path):
    union = node("Union", "", applied(7), applied(8, key="shop#2"))
    log = Log()
    log.execution(0, union)
    log.stage(0, [{7: 50}, {7: 750}, {8: 10}, {8: 12}], [1, 15, 0.1, 0.1])
    by_key = {each.keys: each for each in findings(tmp_path, log)}
    assert by_key["customer",].run.rows == (50, 750)
    assert by_key["shop",].run.rows == (10, 12)


def test_state_stays_where_it_is(tmp_path):
    log = Log()
    text = "FlatMapGroupsInPandasWithState f(customer#1L), [customer#1L], state info"
    log.execution(0, node("FlatMapGroupsInPandasWithState", text, exchange(7)))
    log.stage(0, [100, 700, 100, 100], [1, 7, 1, 1])
    found = only(tmp_path, log)
    assert (found.verdict, found.stream) == ("none", True)
    assert "state" in found.reason


def test_a_key_that_is_an_expression_gets_a_column_first(tmp_path):
    log = Log()
    log.execution(0, applied(key="upper(cast(customer#1L as string))#5, shop name#6"))
    log.stage(0, [100, 700, 100, 100], [1, 7, 1, 1])
    change = only(tmp_path, log).changes[0]
    assert "first add a column named key with upper(cast(customer as string)), shop name" in (
        change.remedy.condition
    )
    assert 'eks.groupBy(df, "key", workers=4)' in change.remedy.code


def test_columns_of_a_composite_key_are_listed(tmp_path):
    log = Log()
    log.execution(0, applied(key="customer#1L, shop name#6"))
    log.stage(0, [100, 700, 100, 100], [1, 7, 1, 1])
    split, whole = only(tmp_path, log).changes
    for change in (split, whole):
        assert 'eks.groupBy(df, "customer", "shop name", workers=4)' in change.remedy.code


def test_failed_tasks_and_stages_are_left_out(tmp_path):
    log = skewed()
    log.stage(0, [5, 5], [1, 1], failure="executor lost")
    (one,) = diagnose(log.write(tmp_path / "log")).applications
    assert len(one.findings[0].work.runs) == 1
    assert "1 stages failed or did not end: left out." in one.cautions


def spilling_scan(name="files"):
    """Make a log of a stage that reads files, and spills a half of what it reads."""
    log = Log(name)
    log.execution(0, node("Scan parquet ", "FileScan parquet [customer#1L]"))
    log.stage(0, [{}] * 4, [5.0, 6.0, 5.0, 5.0])
    for event in log.events:
        if event["Event"] == "SparkListenerTaskEnd":
            metrics = event["Task Metrics"]
            metrics["Input Metrics"] = {"Records Read": 1000, "Bytes Read": 100_000}
            metrics["Disk Bytes Spilled"] = 50_000
    return log


def test_a_stage_that_reads_files_and_spills_has_a_reason(tmp_path):
    found = only(tmp_path, spilling_scan())
    assert (found.cause, found.verdict, found.changes) == ("spill", "none", ())
    assert "spark.executor.memory" in found.reason


def spilling(seconds, spilled):
    """Make a log of groups with balanced rows, given seconds and spilled bytes of each task."""
    log = Log()
    log.execution(0, applied())
    log.stage(0, [1000] * 4, seconds)
    ended = (each for each in log.events if each["Event"] == "SparkListenerTaskEnd")
    for event, count in zip(ended, spilled, strict=True):
        event["Task Metrics"]["Disk Bytes Spilled"] = count
    return log


def test_a_spilling_stage_gets_a_change_only_if_it_makes_a_difference(tmp_path):
    found = only(tmp_path, spilling([2.0, 4.0, 4.0, 4.0], [0, *[50_000] * 3]))
    assert (found.cause, found.verdict, found.notes) == ("spill", "unsure", ())
    (change,) = found.changes
    assert change.gain == pytest.approx(2)
    found = only(tmp_path, spilling([4.0] * 4, [50_000] * 4))
    assert (found.cause, found.verdict, found.changes) == ("spill", "unsure", ())
    (note,) = found.notes
    assert note == (
        "Smaller partitions, or more memory for executors (spark.executor.memory), may help: "
        'spark.conf.set("spark.sql.shuffle.partitions", "16")'
    )


def test_an_application_that_cannot_be_judged_does_not_stop_the_others(tmp_path, monkeypatch):
    def failing(application, thresholds):
        if application.name == "strange":
            raise IndexError
        return find(application, thresholds)

    monkeypatch.setattr("evenkey.reports.diagnosis.diagnosing.find", failing)
    skewed().write(tmp_path / "app-1")
    skewed(name="strange").write(tmp_path / "app-2")
    found = diagnose(tmp_path)
    assert [each.application.name for each in found.applications] == ["orders"]
    (caution,) = found.cautions
    assert caution.startswith("strange (app-strange) is left out: it cannot be judged (IndexError:")
    with pytest.raises(IndexError):
        diagnose(tmp_path, application="app-strange")


def test_only_what_findings_need_of_an_application_is_kept(tmp_path, monkeypatch):
    alive: list[weakref.ref[Application]] = []
    most: list[int] = []

    def reading(log):
        most.append(sum(each() is not None for each in alive))
        found = read_log(log)
        alive.append(weakref.ref(found))
        return found

    monkeypatch.setattr("evenkey.reports.diagnosis.diagnosing.read_log", reading)
    for name in ("a", "b", "c"):
        log = skewed(name=name)
        log.stage(0, [{}] * 4, [1.0] * 4)  # reads no shuffle
        log.write(tmp_path / name)
    found = diagnose(tmp_path)
    assert most == [0, 0, 0]
    for one in found.applications:
        (finding,) = one.findings
        (stage,) = one.application.stages
        assert finding.application is one.application
        assert finding.run.tasks == stage.tasks
        assert [each.rows for each in stage.tasks] == [100, 700, 100, 100]
        assert not any(each.counted for each in stage.tasks)
        assert one.application.executions[0].plan.children == ()


def test_stages_of_rdds_are_counted(tmp_path):
    log = Log()
    log.stage(None, [5, 500], [1, 1])
    (one,) = diagnose(log.write(tmp_path / "log")).applications
    assert one.findings == ()
    assert one.cautions[0].startswith("No keyed shuffle")
    assert "1 stages of RDDs" in one.cautions[1]


def test_queries_without_a_place_are_folded_by_their_plans(tmp_path):
    log = Log()
    for number in range(3):
        plan = applied(counter=70 + number)
        log.execution(number, plan if number < 2 else node("Limit", "", plan), "save at X.java:0")
        log.stage(number, [100, 700, 100, 100], [1, 7, 1, 1], counter=70 + number)
    assert sorted(len(each.work.runs) for each in findings(tmp_path, log)) == [1, 2]


def test_a_join_of_a_stream_with_a_static_side(tmp_path):
    log = Log()
    text = "SortMergeJoin [customer#1L], [customer#5L], LeftOuter"
    scan = node("MicroBatchScan")
    log.execution(0, node("SortMergeJoin", text, exchange(7, below=scan), exchange(8)))
    rows = [{7: each, 8: 10} for each in (300, 800, 300, 100)]
    log.stage(0, rows, [3.1, 8.1, 3.1, 1.1], query="q")
    (change,) = only(tmp_path, log).changes
    assert change.remedy.code == 'eks.join(left, right, ["customer"], "left", workers=4)'
    assert change.remedy.condition == "if one side is static:"
    assert change.counting == 0


def test_another_reading_of_a_dear_input_is_paid_for(tmp_path):
    for seconds, verdict in ((0.5, "change"), (20.0, "small")):
        plan = applied()
        shuffle = plan["children"][0]["children"][0]
        shuffle["metrics"].append({"name": "shuffle records written", "accumulatorId": 9})
        log, rows = Log(), [100, 700, 100, 100]
        log.execution(0, plan)
        log.stage(0, [{9: 250}] * 4, [seconds] * 4, metric="shuffle records written")
        log.stage(0, rows, [0.5 + 0.01 * each for each in rows])
        found = only(tmp_path, log)
        assert found.verdict == verdict
        counting = [each.counting for each in found.changes]
        assert counting == ([pytest.approx(0.5)] * 2 if verdict == "change" else [])

"""``evenkey diagnose``: text, JSON, page and errors, without Spark."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evenkey.core.profiles import (
    HotKey,
    Operation,
    Profile,
    SampledRows,
    read_profile,
    write_profile,
)
from evenkey.reports.diagnosis import diagnose
from tests.diagnosis.writing import Log, adaptive, applied, node, skewed


@pytest.fixture
def log(tmp_path):
    return skewed().write(tmp_path / "log")


def test_text(invoke, log):
    said = invoke("diagnose", log)
    assert said.exit_code == 0, said.stderr
    assert "log: 1 stage to change" in said.stdout
    assert "orders (app-orders): Spark 4.3.0, 4 slots, 60.0 s" in said.stdout
    assert "stage 0: FlatMapGroupsInPandas by customer, collect at /srv/orders.py:17" in said.stdout
    assert "About 2.5x faster: the largest task has 2.8 times the mean" in said.stdout
    assert '    eks.groupBy(df, "customer", workers=4).applyInPandas(' in said.stdout


def test_json(invoke, log):
    figures = json.loads(invoke("diagnose", log, "--json").stdout)
    assert figures["named"] == 1
    assert figures["thresholds"] == {
        "least_fullness": 1.5, "least_gain": 1.2, "least_seconds": 1.0
    }  # fmt: skip
    (one,) = figures["applications"]
    (finding,) = one["findings"]
    assert finding["max_over_mean"]["rows"] == 2.8
    assert finding["time_goes_by"] == "input rows"
    assert finding["keys"] == ["customer"]
    assert [each["rows"] for each in finding["tasks_of_worst_run"]] == [100, 700, 100, 100]
    assert [each["how"] for each in finding["changes"]] == ["split", "whole"]
    assert figures["page"] is None


def test_a_remedy_that_does_not_help_is_not_offered(invoke, tmp_path):
    # The hottest key alone has as many rows as the largest task.
    log = Log()
    log.execution(0, applied())
    log.stage(0, [0, 700, 0, 0], [0.0, 7.0, 0.0, 0.0])
    said = invoke("diagnose", log.write(tmp_path / "log")).stdout
    assert "4.0x faster" in said
    assert "merge=merge" in said
    assert "1.0x" not in said
    assert "if it needs all rows of a key" not in said


def test_a_stage_that_was_merged_into_one_task_is_explained(invoke, tmp_path):
    log = Log()
    log.execution(0, applied(counter=1, partitions=200))
    log.replanned(0, adaptive(applied(counter=7, partitions=200)))
    log.stage(0, [1000], [12.0])
    said = " ".join(invoke("diagnose", log.write(tmp_path / "log")).stdout.split())
    assert "few tasks" in said
    assert "merged its 200 partitions into one task, because they hold only 10 KiB" in said
    assert "1 of 4 slots did all the work" in said
    assert "balanced" not in said


def test_limits_are_options(invoke, log):
    figures = json.loads(invoke("diagnose", log, "--json", "--least-gain", 3).stdout)
    (finding,) = figures["applications"][0]["findings"]
    assert (figures["named"], finding["verdict"]) == (0, "small")
    assert "2.50x faster: less than 3x" in finding["reason"]


def test_page(invoke, log, tmp_path):
    said = invoke("diagnose", log, "--page", tmp_path / "page.html")
    assert f"page: {tmp_path / 'page.html'}" in said.stdout.replace("\n", "")
    assert "<h1>1 stage to change" in (tmp_path / "page.html").read_text()


def test_nothing_to_change(invoke, tmp_path):
    said = invoke("diagnose", Log().write(tmp_path / "log"))
    assert said.exit_code == 0
    assert "no stages to change" in said.stdout
    assert "No keyed shuffle: no stage of a query reads rows by key." in said.stdout


def test_spark_is_not_imported(log):
    program = (
        "import sys; from evenkey.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "assert 'pyspark' not in sys.modules, 'imported'"
    )
    command = [sys.executable, "-c", program, "diagnose", str(log)]
    subprocess.run(command, check=True, capture_output=True)


def test_a_gain_above_a_limit_has_its_own_exit_code_and_a_line(invoke, log):
    failed = invoke("diagnose", log, "--fail-above", 1.5)
    assert failed.exit_code == 3
    assert failed.stderr.splitlines()[-1] == (
        "orders: stage 0: FlatMapGroupsInPandas by customer, collect at /srv/orders.py:17: "
        "2.5x faster, 4.5 s saved (skewed keys)"
    )
    assert "log: 1 stage to change" in failed.stdout
    passed = invoke("diagnose", log, "--fail-above", 2.6)
    assert passed.exit_code == 0
    assert "x faster" not in passed.stderr


def test_json_stays_json_where_a_gain_is_above_the_limit(invoke, log):
    failed = invoke("diagnose", log, "--format", "json", "--fail-above", 1.5)
    assert failed.exit_code == 3
    assert json.loads(failed.stdout)["named"] == 1


def test_a_change_of_low_confidence_does_not_fail(invoke, tmp_path):
    log = Log()
    log.execution(0, applied(partitions=1))
    log.stage(0, [1000], [12.0])
    said = invoke("diagnose", log.write(tmp_path / "log"), "--fail-above", 1.5)
    assert said.exit_code == 0
    assert "4.0x faster (3.0 s), confidence low" in " ".join(said.stdout.split())


def test_markdown(invoke, log):
    said = invoke("diagnose", log, "--format", "markdown").stdout
    assert said.startswith("## 1 stage to change\n\n### orders (app-orders)\n")
    assert '```python\neks.groupBy(df, "customer", workers=4).applyInPandas(' in said
    assert "earlier" not in said
    (row,) = (each for each in said.splitlines() if each.startswith("| 0 |"))
    assert "| 2.80 | 7.5 | 2.50 | change |" in row


def test_a_report_has_one_form(invoke, log):
    said = invoke("diagnose", log, "--json", "--format", "markdown")
    assert said.exit_code == 2
    assert "pass one of the two" in said.stderr


def test_what_got_worse_since_an_earlier_diagnosis(invoke, tmp_path, log):
    earlier = tmp_path / "earlier.json"
    earlier.write_text(invoke("diagnose", log, "--format", "json").stdout)
    same = invoke("diagnose", log, "--earlier", earlier, "--fail-above", 1.5)
    assert same.exit_code == 0
    assert "nothing is new, worse or fixed" in same.stdout
    slower = skewed(seconds_a_row=0.02).write(tmp_path / "slower")
    worse = invoke("diagnose", slower, "--earlier", earlier, "--fail-above", 1.5)
    assert worse.exit_code == 3
    marked = invoke("diagnose", log, "--earlier", earlier, "--format", "markdown").stdout
    assert "\nNothing is new, worse or fixed since the earlier diagnosis.\n\n### orders" in marked
    text = "a change would save 9.0 s, 4.5 s before"
    assert text in " ".join(worse.stdout.split())
    listed = json.loads(invoke("diagnose", slower, "--earlier", earlier, "--json").stdout)["since"]
    assert [len(listed[name]) for name in ("new", "worse", "fixed")] == [0, 1, 0]


def test_stages_that_are_new_or_fixed(invoke, tmp_path, log):
    balanced = Log()
    balanced.execution(0, applied())
    balanced.stage(0, [250] * 4, [3.0] * 4)
    before = balanced.write(tmp_path / "balanced")
    earlier = tmp_path / "earlier.json"
    earlier.write_text(invoke("diagnose", before, "--json").stdout)
    assert invoke("diagnose", log, "--earlier", earlier, "--fail-above", 1.5).exit_code == 3
    earlier.write_text(invoke("diagnose", log, "--json").stdout)
    said = invoke("diagnose", before, "--earlier", earlier).stdout
    fixed = "fixed: orders: FlatMapGroupsInPandas by customer, collect at /srv/orders.py"
    assert fixed in " ".join(said.split())


def test_a_stage_to_try_that_becomes_one_to_change_is_new(invoke, tmp_path, log):
    earlier = tmp_path / "earlier.json"
    before = json.loads(invoke("diagnose", log, "--json").stdout)
    for name in ("change", "unsure"):
        before["applications"][0]["findings"][0]["verdict"] = name
        earlier.write_text(json.dumps(before))
        code = invoke("diagnose", log, "--earlier", earlier, "--fail-above", 1.5).exit_code
        assert code == (3 if name == "unsure" else 0)
    said = invoke("diagnose", log, "--earlier", earlier).stdout
    assert "new: orders: stage 0" in said
    assert "fixed" not in said


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"applications": [{"findings": [{}]}]}',
        '{"applications": [{"name": "orders", "findings": []}]}',
    ],
)  # fmt: skip
def test_an_earlier_diagnosis_must_be_one(invoke, tmp_path, log, text):
    earlier = tmp_path / "earlier.json"
    earlier.write_text(text)
    said = invoke("diagnose", log, "--earlier", earlier)
    assert said.exit_code == 2
    assert "evenkey diagnose LOGS --format json > FILE" in said.stderr


def profiled(tmp_path, **changes):
    """Write a profile of the operation in the log of `log`, whose hot key is ``secret``."""
    path = tmp_path / "profile.json"
    key = HotKey(7, 70.0, '{"k0":"secret"}')
    operation = Operation("applyInPandas(f)", ("customer",), ("t",), 0.0)
    operation = replace(operation, inputs=(SampledRows(100.0, (key,)),), **changes)
    write_profile(path, Profile({"0f": operation}))
    return path


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_profile_gets_the_tasks_of_the_log_and_keeps_its_keys(invoke, tmp_path, form):
    metrics = node("CollectMetrics", "CollectMetrics evenkey-0f-0-1, [count(1)]")
    log = Log()
    log.execution(0, applied(below=metrics))
    log.stage(0, [100, 700, 100, 100], [1.5, 7.5, 1.5, 1.5])
    path = profiled(tmp_path)
    arguments = ("diagnose", log.write(tmp_path / "log"), "--profile", path, "--format", form)
    said = invoke(*arguments)
    assert said.exit_code == 0, said.stderr
    tasks = read_profile(path).operations["0f"].tasks
    assert tasks is not None
    assert tasks.rows == (100, 700, 100, 100)
    assert "applyInPandas(f)" in said.stdout
    assert "secret" not in said.stdout + said.stderr
    assert "0000000000000007" not in said.stdout
    assert "secret" in invoke(*arguments, "--show-keys").stdout


def test_a_recording_that_ends_while_logs_are_read_is_kept(invoke, tmp_path, log, monkeypatch):
    path = profiled(tmp_path)

    def reading(*given, **options):
        known = read_profile(path)
        write_profile(path, Profile({**known.operations, "1f": known.operations["0f"]}))
        return diagnose(*given, **options)

    monkeypatch.setattr("evenkey.cli.diagnose.diagnose", reading)
    said = invoke("diagnose", log, "--profile", path)
    assert said.exit_code == 0, said.stderr
    assert [*read_profile(path).operations] == ["0f", "1f"]


def test_the_diagnosis_is_printed_if_the_profile_or_page_cannot_be_written(
    invoke, tmp_path, log, monkeypatch
):
    def failing(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path, page = profiled(tmp_path), tmp_path / "page.html"
    monkeypatch.setattr("evenkey.core.profiles.profile_file.replacing", failing)
    monkeypatch.setattr("evenkey.reports.diagnosis.diagnosis_page.write", failing)
    arguments = ("diagnose", log, "--profile", path, "--page", page)
    said = invoke(*arguments, "--format", "markdown")
    assert said.exit_code == 2
    assert said.stdout.startswith("## 1 stage to change")
    assert "applyInPandas(f)" in said.stdout
    first, second, *_ = said.stderr.strip().splitlines()
    assert "the profile cannot be written (No space left on device)" in first
    assert "No space left on device" in second
    failed = invoke(*arguments, "--fail-above", 1.5)
    assert failed.exit_code == 3
    assert "the profile cannot be written" in failed.stderr
    assert "2.5x faster, 4.5 s saved" in failed.stderr.splitlines()[-1]
    assert "page:" not in failed.stdout


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that nobody can write to")
def test_a_page_that_cannot_be_written_is_refused_before_the_logs_are_read(invoke, tmp_path):
    said = invoke("diagnose", tmp_path / "missing", "--page", "/proc/page.html")
    assert said.exit_code == 2
    assert "page = '/proc/page.html': it cannot be written" in said.stderr


def test_keys_are_only_shown_of_a_profile(invoke, log):
    said = invoke("diagnose", log, "--show-keys")
    assert said.exit_code == 2
    assert (
        said.stderr.strip()
        == "error: --show-keys: only a profile has keys; pass --profile FILE too"
    )


def test_a_profile_of_another_format_is_refused_before_the_logs_are_read(invoke, tmp_path):
    path = tmp_path / "profile.json"
    path.write_text('{"kind": "evenkey profile", "format": 9}')
    said = invoke("diagnose", tmp_path / "missing", "--profile", path)
    assert said.exit_code == 2
    assert "is of format 9" in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1

"""Read a running application over the REST API of its web UI.

Unlike a log, the API does not count the rows of a task by exchange. So the rows of the two sides of
a join, and of its output, are unknown. The API does not say either which exchange a stage read. We
take the exchange whose total number of rows equals the number of rows that the stage read.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenkey.reports.diagnosis.reading.call_sites import call_site
from evenkey.reports.diagnosis.reading.limits import figure, text, whole
from evenkey.reports.diagnosis.reading.plan_text import read_plan
from evenkey.reports.diagnosis.reading.spark_application import Application, Execution, Stage, Task
from evenkey.reports.diagnosis.reading.spark_plans import RECORDS_READ
from evenkey.reports.diagnosis.reading.spark_settings import known_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkey.reports.diagnosis.reading.spark_plans import Node

    Ask = Callable[[str], Any]

_LACKS = (
    "Read over REST: the rows of a join's two sides and of its output are unknown, and stages are "
    "matched to shuffles by their total rows; the application's event log has these figures."
)
_PAGE = 1000


def read_live(listed: Mapping[str, Any], ask: Ask) -> Application:
    """Read a running application.

    Parameters
    ----------
    listed
        The application's entry in the list of applications.
    ask
        Function that returns the answer to a path below the application's own path.
    """
    properties = dict(ask("environment")["sparkProperties"])
    cores_a_task = max(1, whole(properties.get("spark.task.cpus", 1)))
    executors = [each for each in ask("allexecutors") if each.get("isActive", True)]
    slots = sum(whole(each["totalCores"]) // cores_a_task for each in executors)
    stages_of_jobs = {each["jobId"]: each["stageIds"] for each in ask("jobs")}
    executions: dict[int, Execution] = {}
    of_stages: dict[int, int] = {}
    for each in _pages(ask, "sql?details=true&planDescription=true"):
        execution = _execution(each, known_settings(properties))
        if execution is not None:
            executions[execution.number] = execution
            for job in (*each.get("successJobIds", ()), *each.get("runningJobIds", ())):
                for stage in stages_of_jobs.get(job, ()):
                    of_stages.setdefault(stage, execution.number)
    attempt = listed["attempts"][0]
    return Application(
        text(listed["id"]),
        text(listed["name"]),
        text(attempt.get("appSparkVersion", "")),
        slots or 1,
        figure(attempt.get("startTimeEpoch", 0)) / 1000,
        max(0.0, figure(attempt.get("duration", 0))) / 1000,
        executions,
        tuple(_stages(ask, of_stages)),
        (_LACKS,),
        "rest",
    )


def _stages(ask: Ask, of_stages: Mapping[int, int]) -> Iterator[Stage]:
    complete = ask("stages?status=complete")
    for each in sorted(complete, key=lambda one: whole(one["stageId"])):
        if not each["shuffleReadRecords"] and not each.get("inputBytes"):
            continue
        path = f"stages/{whole(each['stageId'])}/{whole(each['attemptId'])}/taskList"
        tasks = {
            whole(one["index"]): _task(one)
            for one in _pages(ask, path)
            if one["status"] == "SUCCESS" and one.get("taskMetrics")
        }
        yield Stage(
            whole(each["stageId"]),
            text(each["name"]),
            of_stages.get(whole(each["stageId"])),
            tuple(tasks[index] for index in sorted(tasks)),
        )


def _task(answer: Mapping[str, Any]) -> Task:
    metrics = answer["taskMetrics"]
    read, source = metrics["shuffleReadMetrics"], metrics.get("inputMetrics") or {}
    return Task(
        whole(answer["index"]),
        figure(answer["taskId"]),  # ids are in the order in which tasks are launched
        max(0.0, figure(answer["duration"])) / 1000,
        whole(read["recordsRead"]),
        whole(read["remoteBytesRead"]) + whole(read["localBytesRead"]),
        {},
        whole(source.get("recordsRead", 0)),
        whole(source.get("bytesRead", 0)),
        whole(metrics.get("diskBytesSpilled", 0)),
        sys.intern(text(answer.get("executorId", ""))),
        sys.intern(text(answer.get("host", ""))),
    )


def _execution(answer: Mapping[str, Any], settings: Mapping[str, str]) -> Execution | None:
    plan = read_plan(str(answer.get("planDescription", "")))
    if plan is None:
        return None
    exchanges = [
        each
        for each in sorted(answer.get("nodes", ()), key=lambda one: whole(one["nodeId"]))
        if each["nodeName"].strip() == "Exchange"
    ]
    numbers = iter(whole(each["nodeId"]) for each in exchanges)
    totals = {
        whole(each["nodeId"]): whole(metric["value"].replace(",", ""))
        for each in exchanges
        for metric in each["metrics"]
        if metric["name"] == RECORDS_READ and metric["value"].replace(",", "").isdecimal()
    }
    # Spark numbers the nodes from the root of the plan down, in the order in which its text lists
    # them. So the n-th exchange in the text is the n-th exchange by number.
    place = call_site(answer.get("description"), None)
    numbered = _numbered(plan, numbers)
    return Execution(whole(answer["id"]), numbered, place, None, totals, settings)


def _numbered(node: Node, numbers: Iterator[int]) -> Node:
    """Number the exchanges of a plan; the numbers serve as accumulator ids."""
    counters = {}
    if node.name == "Exchange":
        number = next(numbers, None)
        counters = {} if number is None else {RECORDS_READ: number}
    children = tuple(_numbered(child, numbers) for child in node.children)
    return replace(node, counters=counters, children=children)


def _pages(ask: Ask, path: str) -> Iterator[Any]:
    mark = "&" if "?" in path else "?"
    offset = 0
    while answers := ask(f"{path}{mark}offset={offset}&length={_PAGE}"):
        yield from answers
        offset += len(answers)
        if len(answers) < _PAGE:
            return

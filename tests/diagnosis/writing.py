"""Write event logs as Spark does, for known rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SQL = "org.apache.spark.sql.execution.ui."
APPLY = "FlatMapGroupsInPandas [customer#1L], f(customer#1L, amount#2)#9, [customer#10L, n#11L]"


def node(name: str, text: str = "", *children: dict[str, Any], **counters: int) -> dict[str, Any]:
    metrics = [
        {"name": metric.replace("_", " "), "accumulatorId": number, "metricType": "sum"}
        for metric, number in counters.items()
    ]
    text = text or name
    return {
        "nodeName": name, "simpleString": text, "children": [*children],
        "metadata": {}, "metrics": metrics,
    }  # fmt: skip


def exchange(
    counter: int,
    key: str = "customer#1L",
    below: dict[str, Any] | None = None,
    origin: str = "ENSURE_REQUIREMENTS",
    partitions: int = 4,
) -> dict[str, Any]:
    text = f"Exchange hashpartitioning({key}, {partitions}), {origin}, [plan_id={counter}]"
    return node("Exchange", text, below or node("Range"), records_read=counter)


def applied(counter: int = 7, **options: Any) -> dict[str, Any]:
    """Make the plan of a function on the rows of each customer."""
    return node("FlatMapGroupsInPandas", APPLY, node("Sort", "", exchange(counter, **options)))


def adaptive(plan: dict[str, Any], note: str = "coalesced") -> dict[str, Any]:
    """Return a plan with the operators that adaptive execution puts around each exchange."""
    children = [adaptive(each, note) for each in plan["children"]]
    inside = {**plan, "children": children}
    if plan["nodeName"] != "Exchange":
        return inside
    return node("AQEShuffleRead", f"AQEShuffleRead {note}", node("ShuffleQueryStage", "", inside))


@dataclass
class Log:
    """The events of an application on four slots, in order."""

    name: str = "orders"
    version: str = "4.3.0"
    slots: int = 4
    started: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    stages: int = 0

    def __post_init__(self) -> None:
        executor = {"Host": "h", "Total Cores": self.slots}
        self.events += [
            {"Event": "SparkListenerLogStart", "Spark Version": self.version},
            {"Event": "SparkListenerExecutorAdded", "Executor ID": "1", "Executor Info": executor},
            {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.x": "y"}},
            {
                "Event": "SparkListenerApplicationStart", "App Name": self.name,
                "App ID": f"app-{self.name}", "Timestamp": 1000 * self.started, "User": "u",
            },
        ]  # fmt: skip

    def execution(
        self, number: int, plan: dict[str, Any], place: str = "collect at /srv/orders.py:17"
    ) -> None:
        event = {
            "executionId": number, "description": place, "details": "", "sparkPlanInfo": plan,
        }  # fmt: skip
        self.events.append({"Event": f"{SQL}SparkListenerSQLExecutionStart", **event})

    def replanned(self, number: int, plan: dict[str, Any]) -> None:
        event = {"executionId": number, "sparkPlanInfo": plan}
        self.events.append({"Event": f"{SQL}SparkListenerSQLAdaptiveExecutionUpdate", **event})

    def stage(
        self,
        execution: int | None,
        rows: Sequence[Any],
        seconds: Sequence[float],
        *,
        query: str | None = None,
        counter: int = 7,
        failure: str | None = None,
        metric: str = "records read",
    ) -> int:
        """Add a stage, given the rows of each task: by accumulator, or of the only exchange."""
        number, self.stages = self.stages, self.stages + 1
        properties = {} if execution is None else {"spark.sql.execution.id": str(execution)}
        if query:
            properties["sql.streaming.queryId"] = query
        started = {"Job ID": number, "Stage IDs": [number], "Properties": properties}
        self.events.append({"Event": "SparkListenerJobStart", **started})
        for index, (counted, took) in enumerate(zip(rows, seconds, strict=True)):
            each: dict[int, int] = counted if isinstance(counted, dict) else {counter: counted}
            self.events.append(task(number, index, each, took, metric))
        info = {
            "Stage ID": number, "Stage Attempt ID": 0, "Stage Name": "collect",
            "Completion Time": 1000, **({"Failure Reason": failure} if failure else {}),
        }  # fmt: skip
        self.events.append({"Event": "SparkListenerStageCompleted", "Stage Info": info})
        return number

    def text(self, *, ended: bool = True) -> str:
        end = {"Event": "SparkListenerApplicationEnd", "Timestamp": 1000 * self.started + 60_000}
        events = [*self.events, *([end] if ended else [])]
        return "".join(json.dumps(each) + "\n" for each in events)

    def write(self, file: Path, *, ended: bool = True) -> Path:
        file.write_text(self.text(ended=ended))
        return file


def task(
    stage: int, index: int, counted: dict[int, int], seconds: float, metric: str = "records read"
) -> dict[str, Any]:
    total = sum(counted.values()) if metric == "records read" else 0
    return {
        "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0,
        "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"},
        "Task Info": {
            "Task ID": index, "Index": index, "Launch Time": 1000,
            "Finish Time": 1000 + round(1000 * seconds),
            "Accumulables": [
                {"ID": number, "Name": metric, "Update": str(rows), "Metadata": "sql"}
                for number, rows in counted.items()
            ],
        },
        "Task Metrics": {
            "Executor Run Time": round(1000 * seconds),
            "Shuffle Read Metrics": {
                "Remote Bytes Read": 4 * total, "Local Bytes Read": 6 * total,
                "Total Records Read": total,
            },
        },
    }  # fmt: skip


def skewed(
    slots: int = 4, name: str = "orders", seconds_a_row: float = 0.01, started: int = 0
) -> Log:
    """Make a log of four tasks on four slots: one has 700 of 1,000 rows; 0.5 s are fixed."""
    log, rows = Log(name, slots=slots, started=started), [100, 700, 100, 100]
    log.execution(0, applied())
    log.stage(0, rows, [0.5 + seconds_a_row * each for each in rows])
    return log

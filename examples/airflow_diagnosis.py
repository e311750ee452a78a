"""Diagnose Spark's event logs in Airflow: a task that fails if a job became slow.

Copy this file into the DAGs of Airflow 3.0 or later. Each day it reads the event logs of the last
24 hours, compares them with a diagnosis whose stages are accepted, and fails with a line for each
stage that is new or worse. The first run writes the accepted diagnosis; to accept newer stages,
replace it by the file of the newest run. Install evenkey's wheel with the extra `cli` for the
worker. The task starts no Spark.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from airflow.exceptions import AirflowFailException  # from 3.2 on also in airflow.sdk.exceptions
from airflow.sdk import dag, task

from evenkey import diagnose

LOGS = "/srv/spark-events"
ACCEPTED, NEWEST = Path("/srv/accepted.json"), Path("/srv/diagnosis.json")
FAIL_ABOVE, LAST_HOURS = 1.5, 24.0


def stages_to_change(
    logs: str, accepted: Path, newest: Path, fail_above: float, last_hours: float
) -> list[str]:
    """Diagnose logs, write the diagnosis, and return a line for each stage that is too slow."""
    diagnosis = diagnose(logs, last_hours=last_hours)
    newest.write_text(json.dumps(diagnosis.to_json()))
    if accepted.exists():
        since = diagnosis.since(json.loads(accepted.read_text()))
        return [each.line for each in since.above(fail_above)]
    shutil.copy(newest, accepted)
    return [each.line for each in diagnosis.above(fail_above)]


@dag(schedule="@daily", catchup=False)
def diagnose_spark_jobs() -> None:
    """Find the Spark jobs that became slow."""

    @task
    def diagnosis() -> None:
        found = stages_to_change(LOGS, ACCEPTED, NEWEST, FAIL_ABOVE, LAST_HOURS)
        if found:
            raise AirflowFailException("\n".join(found))

    diagnosis()


diagnose_spark_jobs()

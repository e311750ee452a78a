"""Diagnose Spark's event logs in Airflow: a task that fails if a job became slow.

Copy this file into the DAGs of Airflow 3. Each morning it reads the event logs of the history
server, compares them with a diagnosis whose stages are accepted, and fails with a line for each
stage that is new or worse. The first run writes the accepted diagnosis; to accept newer stages,
replace it by the file of the newest run. The task needs `pip install 'evenkey[cli]'`, and no Spark.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

from evenkey import diagnose

LOGS = "/srv/spark-events"
ACCEPTED, NEWEST = Path("/srv/accepted.json"), Path("/srv/diagnosis.json")
FAIL_ABOVE = 1.5


def stages_to_change(logs: str, accepted: Path, newest: Path, fail_above: float) -> list[str]:
    """Diagnose logs, write the diagnosis, and return a line for each stage that is too slow."""
    diagnosis = diagnose(logs)
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
        found = stages_to_change(LOGS, ACCEPTED, NEWEST, FAIL_ABOVE)
        if found:
            raise AirflowFailException("\n".join(found))

    diagnosis()


diagnose_spark_jobs()

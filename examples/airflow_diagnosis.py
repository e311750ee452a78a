"""Diagnose Spark's event logs in Airflow: a task that fails if a job became slow.

Copy this file into the DAGs of Airflow 3. Each morning it reads the event logs of the history
server, compares them with those of the day before, and fails with a line for each stage that is new
or worse. The task needs `pip install 'evenkey[cli]'`, and no Spark.
"""

from __future__ import annotations

import json
from pathlib import Path

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

from evenkey import diagnose

LOGS = "/srv/spark-events"
EARLIER = Path("/srv/diagnosis.json")
FAIL_ABOVE = 1.5


def stages_to_change(logs: str, earlier: Path, fail_above: float) -> list[str]:
    """Diagnose logs, replace the earlier diagnosis, and return a line for each slow stage."""
    diagnosis = diagnose(logs)
    found = [each.line for each in diagnosis.above(fail_above)]
    if earlier.exists():
        since = diagnosis.since(json.loads(earlier.read_text()))
        found = [each.line for each in since.above(fail_above)]
    earlier.write_text(json.dumps(diagnosis.to_json()))
    return found


@dag(schedule="@daily", catchup=False)
def diagnose_spark_jobs() -> None:
    """Find the Spark jobs that became slow."""

    @task
    def diagnosis() -> None:
        found = stages_to_change(LOGS, EARLIER, FAIL_ABOVE)
        if found:
            raise AirflowFailException("\n".join(found))

    diagnosis()


diagnose_spark_jobs()

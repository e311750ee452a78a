"""Diagnosis of past jobs: find the stages that key skew slows down, and the lines to change.

A diagnosis reads Spark's event logs, or the REST API of a history server or running application.

>>> Thresholds().least_gain
1.2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.reports.diagnosis.diagnosing import Diagnosis, diagnose
from evenkey.reports.diagnosis.earlier_diagnosis import Comparison, read_earlier
from evenkey.reports.diagnosis.findings import Change, Diagnosed, Finding, stage_names, stage_title
from evenkey.reports.diagnosis.profiled_tasks import profile_lines, profile_values, with_tasks
from evenkey.reports.diagnosis.reading.spark_application import Application, Execution, Stage, Task
from evenkey.reports.diagnosis.thresholds import Thresholds

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.diagnosis_page import check_page as check_page
    from evenkey.reports.diagnosis.diagnosis_page import write_page as write_page

__all__ = [
    "Application",
    "Change",
    "Comparison",
    "Diagnosed",
    "Diagnosis",
    "Execution",
    "Finding",
    "Stage",
    "Task",
    "Thresholds",
    "diagnose",
    "profile_lines",
    "profile_values",
    "read_earlier",
    "stage_names",
    "stage_title",
    "with_tasks",
]

__getattr__ = lazy_names(__name__)

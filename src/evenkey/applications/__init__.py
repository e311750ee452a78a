"""Applications of split keys: word count, heavy hitters, naive Bayes, decision trees, your own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenkey.applications.base import Application, PipelineApplication
from evenkey.applications.catalogue import APPLICATIONS, parse
from evenkey.applications.config import ApplicationConfig
from evenkey.applications.documents import Documents
from evenkey.applications.heavy_keys import FindHeavyHitters
from evenkey.applications.in_process import InProcess, Trained
from evenkey.applications.labelled import LabelledStream
from evenkey.applications.learner import Learner, Model
from evenkey.applications.naive_bayes import NaiveBayes
from evenkey.applications.trees import Clusters, DecisionTree, TreeModel
from evenkey.applications.word_count import WordCount

if TYPE_CHECKING:
    from evenkey.applications.classifying import classify, classify_by_words
    from evenkey.applications.hitting import heavy_hitters
    from evenkey.applications.models import Models
    from evenkey.applications.report import LearningReport
    from evenkey.applications.runner import run
    from evenkey.applications.training import train
    from evenkey.applications.vetting import rejected_records

__all__ = [
    "APPLICATIONS",
    "Application",
    "ApplicationConfig",
    "Clusters",
    "DecisionTree",
    "Documents",
    "FindHeavyHitters",
    "InProcess",
    "LabelledStream",
    "Learner",
    "LearningReport",
    "Model",
    "Models",
    "NaiveBayes",
    "PipelineApplication",
    "Trained",
    "TreeModel",
    "WordCount",
    "classify",
    "classify_by_words",
    "heavy_hitters",
    "parse",
    "rejected_records",
    "run",
    "train",
]

_HOMES = {
    "LearningReport": "report",
    "Models": "models",
    "classify": "classifying",
    "classify_by_words": "classifying",
    "heavy_hitters": "hitting",
    "rejected_records": "vetting",
    "run": "runner",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    # Configurations are made and checked, and help is shown, without Spark.
    if name in _HOMES:
        return getattr(importlib.import_module(f"evenkey.applications.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)

"""Applications of split keys: word count, heavy hitters, naive Bayes, decision trees, your own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.applications.base import PipelineApplication
from evenkey.applications.catalogue import APPLICATIONS, parse
from evenkey.applications.config import ApplicationConfig
from evenkey.applications.documents import Documents
from evenkey.applications.heavy_keys import FindHeavyHitters
from evenkey.applications.naive_bayes import NaiveBayes
from evenkey.applications.trees import Clusters, DecisionTree, TreeModel
from evenkey.applications.word_count import WordCount
from evenkey.doors import late
from evenkey.pipelines.application import Application
from evenkey.pipelines.learn.in_process import InProcess, Trained
from evenkey.pipelines.learn.labelled import LabelledStream
from evenkey.pipelines.learn.learner import Learner, Model

if TYPE_CHECKING:
    from evenkey.applications.classifying import classify, classify_by_words
    from evenkey.applications.hitting import heavy_hitters
    from evenkey.applications.runner import run
    from evenkey.pipelines.learn.models import Models
    from evenkey.pipelines.learn.report import LearningReport
    from evenkey.pipelines.learn.training import train
    from evenkey.pipelines.learn.vetting import rejected_records

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

__getattr__ = late(
    __name__,
    {
        "LearningReport": "evenkey.pipelines.learn.report",
        "Models": "evenkey.pipelines.learn.models",
        "classify": "evenkey.applications.classifying",
        "classify_by_words": "evenkey.applications.classifying",
        "heavy_hitters": "evenkey.applications.hitting",
        "rejected_records": "evenkey.pipelines.learn.vetting",
        "run": "evenkey.applications.runner",
        "train": "evenkey.pipelines.learn.training",
    },
)

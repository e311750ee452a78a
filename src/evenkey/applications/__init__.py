"""Applications: word count, heavy hitters, naive Bayes, decision trees, your own.

And publish/subscribe by place, the application of joins: `run_join`, `compare_joins`.
"""
# ruff: noqa: E402 - what is missing is said before what needs it is imported

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.extras import load_extra

load_extra("pydantic", "cli", "an application")

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
from evenkey.pipelines.join import JoinConfig
from evenkey.pipelines.learn import InProcess, LabelledStream, Learner, Model, Trained

if TYPE_CHECKING:
    from evenkey.applications.classifying import classify, classify_by_words
    from evenkey.applications.hitting import heavy_hitters
    from evenkey.applications.runner import run, run_learner
    from evenkey.pipelines.join import (
        JoinReport,
        compare_joins,
        produce_publications,
        run_join,
    )
    from evenkey.pipelines.learn import LearnConfig, LearningReport, Models, rejected_records, train

__all__ = [
    "APPLICATIONS",
    "Application",
    "ApplicationConfig",
    "Clusters",
    "DecisionTree",
    "Documents",
    "FindHeavyHitters",
    "InProcess",
    "JoinConfig",
    "JoinReport",
    "LabelledStream",
    "LearnConfig",
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
    "compare_joins",
    "heavy_hitters",
    "parse",
    "produce_publications",
    "rejected_records",
    "run",
    "run_join",
    "run_learner",
    "train",
]

__getattr__ = late(
    __name__,
    {
        "JoinReport": "evenkey.pipelines.join",
        "LearnConfig": "evenkey.pipelines.learn.config",
        "LearningReport": "evenkey.pipelines.learn.report",
        "Models": "evenkey.pipelines.learn.models",
        "classify": "evenkey.applications.classifying",
        "classify_by_words": "evenkey.applications.classifying",
        "compare_joins": "evenkey.pipelines.join",
        "heavy_hitters": "evenkey.applications.hitting",
        "produce_publications": "evenkey.pipelines.join",
        "rejected_records": "evenkey.pipelines.learn.vetting",
        "run": "evenkey.applications.runner",
        "run_join": "evenkey.pipelines.join",
        "run_learner": "evenkey.applications.runner",
        "train": "evenkey.pipelines.learn.training",
    },
)

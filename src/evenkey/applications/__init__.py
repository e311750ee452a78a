"""Applications: word count, heavy hitters, naive Bayes, decision trees, your own."""
# ruff: noqa: E402 - what is missing is said before what needs it is imported

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.extras import load_extra

load_extra("pydantic", "cli", "an application")

from evenkey.applications.base import PipelineApplication
from evenkey.applications.catalogue import APPLICATIONS, parse
from evenkey.applications.config import ApplicationConfig
from evenkey.applications.documents import Documents
from evenkey.applications.heavy_keys import FindHeavyHitters
from evenkey.applications.naive_bayes import NaiveBayes
from evenkey.applications.trees import Clusters, DecisionTree, TreeModel
from evenkey.applications.word_count import WordCount
from evenkey.core.lazy import lazy_names
from evenkey.pipeline.application import Application
from evenkey.pipeline.learn import InProcess, LabelledStream, Learner, Model, Trained

if TYPE_CHECKING:
    from evenkey.applications.application_runs import run, run_learner
    from evenkey.applications.classifying import classify, classify_by_words
    from evenkey.applications.hitting import heavy_hitters
    from evenkey.pipeline.learn import LearnConfig, LearningReport, Models, rejected_records, train

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
    "heavy_hitters",
    "parse",
    "rejected_records",
    "run",
    "run_learner",
    "train",
]

__getattr__ = lazy_names(__name__)

"""Applications: word count, heavy hitters, naive Bayes, decision trees, your own.

Examples of this module begin with these lines::

    from evenkey.applications import *
    from evenkey.spark import session

    spark = session()
"""
# ruff: noqa: E402 - what is missing is said before what needs it is imported

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.extras import load_extra

load_extra("pydantic", "cli", "a run of a pipeline or an application")

from evenkey.applications.base import PipelineApplication as PipelineApplication
from evenkey.applications.catalogue import APPLICATIONS as APPLICATIONS
from evenkey.applications.catalogue import parse as parse
from evenkey.applications.config import ApplicationConfig
from evenkey.applications.documents import Documents as Documents
from evenkey.applications.heavy_keys import FindHeavyHitters as FindHeavyHitters
from evenkey.applications.naive_bayes import NaiveBayes
from evenkey.applications.trees import Clusters as Clusters
from evenkey.applications.trees import DecisionTree
from evenkey.applications.trees import TreeModel as TreeModel
from evenkey.core.lazy import lazy_names
from evenkey.pipeline.learn import InProcess as InProcess
from evenkey.pipeline.learn import Learner, Model

if TYPE_CHECKING:
    from evenkey.applications.application_runs import run as run
    from evenkey.applications.classifying import classify, classify_by_words
    from evenkey.applications.hitting import heavy_hitters
    from evenkey.pipeline.learn import LearnConfig, Models, rejected_records, train

__all__ = [
    "ApplicationConfig",
    "DecisionTree",
    "LearnConfig",
    "Learner",
    "Model",
    "Models",
    "NaiveBayes",
    "classify",
    "classify_by_words",
    "heavy_hitters",
    "rejected_records",
    "train",
]

__getattr__ = lazy_names(__name__)

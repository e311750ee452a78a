"""Learn a model from a stream of labelled records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.pipeline.learn.base import Learner, Model
from evenkey.pipeline.learn.config import LearnConfig
from evenkey.pipeline.learn.in_process import InProcess, Trained
from evenkey.pipeline.learn.labelled_streams import LabelledStream

if TYPE_CHECKING:
    from evenkey.pipeline.learn.config import LearningOptions as LearningOptions
    from evenkey.pipeline.learn.labelled_streams import labelled as labelled
    from evenkey.pipeline.learn.learn_job import LearnJob as LearnJob
    from evenkey.pipeline.learn.models import Models
    from evenkey.pipeline.learn.report import LearningReport
    from evenkey.pipeline.learn.training import train
    from evenkey.pipeline.learn.vetting import rejected_records

__all__ = [
    "InProcess",
    "LabelledStream",
    "LearnConfig",
    "Learner",
    "LearningReport",
    "Model",
    "Models",
    "Trained",
    "rejected_records",
    "train",
]

__getattr__ = lazy_names(__name__)

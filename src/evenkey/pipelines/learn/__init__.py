"""Learn a model from a stream of labelled records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.pipelines.learn.config import LearnConfig
from evenkey.pipelines.learn.in_process import InProcess, Trained
from evenkey.pipelines.learn.labelled_streams import LabelledStream
from evenkey.pipelines.learn.learner import Learner, Model

if TYPE_CHECKING:
    from evenkey.pipelines.learn.config import LearningOptions as LearningOptions
    from evenkey.pipelines.learn.job import LearnJob as LearnJob
    from evenkey.pipelines.learn.labelled_streams import labelled as labelled
    from evenkey.pipelines.learn.models import Models
    from evenkey.pipelines.learn.report import LearningReport
    from evenkey.pipelines.learn.training import train
    from evenkey.pipelines.learn.vetting import rejected_records

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

__getattr__ = late(
    __name__,
    {
        "LearnJob": "evenkey.pipelines.learn.job",
        "LearningOptions": "evenkey.pipelines.learn.config",
        "labelled": "evenkey.pipelines.learn.labelled_streams",
        "LearningReport": "evenkey.pipelines.learn.report",
        "Models": "evenkey.pipelines.learn.models",
        "rejected_records": "evenkey.pipelines.learn.vetting",
        "train": "evenkey.pipelines.learn.training",
    },
)

"""The streaming parallel decision tree."""

from __future__ import annotations

from evenkey.applications.trees.clusters import Clusters
from evenkey.applications.trees.decision_tree import DecisionTree
from evenkey.applications.trees.model import TreeModel

__all__ = ["Clusters", "DecisionTree", "TreeModel"]

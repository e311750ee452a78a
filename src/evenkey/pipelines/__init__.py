"""Kinds of runs: aggregate by key, join with a static side, learn a model."""

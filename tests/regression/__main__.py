"""Measure and store the frozen figures of the regression bench: ``python -m tests.regression``."""

from __future__ import annotations

from tests.regression.bench import freeze

if __name__ == "__main__":
    freeze()

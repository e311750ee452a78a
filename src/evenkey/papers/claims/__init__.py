"""Claims: each statement of the papers in numbers or in order, its criterion and its verdict.

>>> from evenkey.papers.claims import register
>>> sorted(register())
['dkg', 'joins', 'pkg', 'reference']
"""

from __future__ import annotations

from evenkey.papers.claims.claim_register import PAPERS, Claim, claims_of, read_claims, register
from evenkey.papers.claims.criteria import Criterion, Judgement, Verdict, Word, words
from evenkey.papers.claims.shown_values import Measure, Row, Shown, Tables

__all__ = [
    "PAPERS",
    "Claim",
    "Criterion",
    "Judgement",
    "Measure",
    "Row",
    "Shown",
    "Tables",
    "Verdict",
    "Word",
    "claims_of",
    "read_claims",
    "register",
    "words",
]

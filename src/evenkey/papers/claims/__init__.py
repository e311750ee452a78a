"""Claims: each statement of the papers in numbers or in order, its criterion and its verdict.

>>> from evenkey.papers.claims import register
>>> sorted(register())
['dkg', 'joins', 'pkg', 'reference']
"""

from __future__ import annotations

from evenkey.papers.claims.claim_register import (
    PAPERS,
    Claim,
    Finding,
    all_claims,
    claims_of,
    documents,
    read_claims,
    register,
)
from evenkey.papers.claims.criteria import words
from evenkey.papers.claims.shown_values import Row, Shown, Tables

__all__ = [
    "PAPERS",
    "Claim",
    "Finding",
    "Row",
    "Shown",
    "Tables",
    "all_claims",
    "claims_of",
    "documents",
    "read_claims",
    "register",
    "words",
]

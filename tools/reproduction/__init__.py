"""The chapter on what became of the papers' tables and figures, made of results."""

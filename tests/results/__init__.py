"""Stored results, and the pages that have figures of them."""

"""Check a release: its archives, installations of each extra, and files for other services."""

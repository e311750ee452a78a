"""The life of a run: directory, epochs, driving, pausing, reporting; it knows no pipeline."""

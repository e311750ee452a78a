"""Learn a model from a stream of labelled records."""

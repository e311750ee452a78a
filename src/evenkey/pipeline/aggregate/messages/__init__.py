"""Find the input of a run, divide it into epochs, and split its lines or rows into messages."""

__all__: list[str] = []

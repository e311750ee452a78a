"""Messages of a run: found in its input, divided into epochs, split from lines or rows."""

__all__: list[str] = []

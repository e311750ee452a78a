"""Throughput: messages per second."""

from __future__ import annotations

from evenkey.core.errors import ConfigurationError


def messages_per_second(messages: int, seconds: float) -> float:
    """Compute the throughput, `messages` divided by `seconds`, in messages per second.

    The throughput is 0 if both arguments are 0.

    Raises
    ------
    ConfigurationError
        An argument is negative, or `seconds` is 0 and `messages` is above 0.

    Examples
    --------
    >>> messages_per_second(200_000, 40.0)
    5000.0
    """
    if messages == 0 and seconds == 0:
        return 0.0
    if messages < 0 or seconds <= 0:
        message = f"{messages} messages in {seconds:g} s: give messages >= 0 and seconds > 0"
        raise ConfigurationError(message)
    return messages / seconds

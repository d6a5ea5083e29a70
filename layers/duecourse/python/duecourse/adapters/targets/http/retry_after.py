"""The header `Retry-After`: a number of seconds, or a date."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d{1,9}", re.ASCII)


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """How many seconds from `now` (UTC seconds) a target asks to be left alone; None when it does not say."""
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max(moment.timestamp() - now, 0.0) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None

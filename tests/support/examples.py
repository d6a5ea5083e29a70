"""How many examples hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

SHARE = 5


def examples(count: int) -> settings:
    """So many examples in `make test-long` and `make fuzz`, whose profiles are `long` and `drawn`; the first fifth of
    them in `make test`.
    """
    short = settings.get_current_profile_name() == "same"
    return settings(max_examples=count // SHARE if short else count)

"""The number of hypothesis's examples."""

from hypothesis import settings

SHARES = {"same": 5, "long": 2}
"""The part of the examples that a profile draws. CI ends within 90 minutes."""


def examples(count: int) -> settings:
    """Return settings with `count` examples in `make fuzz` (profile drawn), half of them in `make test-all` (long), and
    a fifth in `make test`.
    """
    return settings(max_examples=count // SHARES.get(settings.get_current_profile_name(), 1))

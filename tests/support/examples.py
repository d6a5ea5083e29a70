"""The number of hypothesis's examples."""

from hypothesis import settings

SHARE = 5


def examples(count: int) -> settings:
    """Return settings with `count` examples in `make test-all` and `make fuzz` (profiles long, drawn), and a fifth of
    them in `make test`.
    """
    short = settings.get_current_profile_name() == "same"
    return settings(max_examples=count // SHARE if short else count)

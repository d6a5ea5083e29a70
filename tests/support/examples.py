"""How many examples hypothesis tries."""

from hypothesis import settings

SHARE = 5


def examples(count: int) -> settings:
    """`count` examples in `make test-all` and `make fuzz` (profiles long, drawn), the first fifth in `make test`."""
    short = settings.get_current_profile_name() == "same"
    return settings(max_examples=count // SHARE if short else count)

"""The quota for delayed runs, and the limits of the size of a job."""

from __future__ import annotations

PORTIONS = 500
"""The number of portions in the quota for delayed runs. Delayed runs are counted in whole portions."""


def counted_places(runs: int, quota: int, draw: float) -> int:
    """Return the number by which these delayed runs raise the count of the quota. It is a whole number of portions and
    on average equals the number of runs, so that few requests write. `draw` is a random number in [0, 1).
    """
    portion = max(quota // PORTIONS, 1)
    return int(runs / portion + draw) * portion


MAX_EXPRESSION = 256
"""The maximum number of characters of a schedule."""

MAX_CALENDAR_ENTRIES = 500

MAX_PAYLOAD_BYTES = 200 * 1024
"""As JSON. Leaves room in a message of SQS for the other parts of an event."""

MAX_PARAMETER_BYTES = 16 * 1024
"""The maximum size of the parameters of an AWS call, as JSON."""

MAX_ECS_CHARACTERS = 7000
"""The maximum length of a payload for ECS. ECS allows 8,192 characters of overrides, and other parts of an event use
some of these.
"""

MAX_DEPTH = 32
"""The maximum number of levels of objects and arrays in a job, such as those of its payload."""

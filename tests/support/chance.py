"""How drawn examples are drawn: the same ones at each run, and however long a busy machine takes."""

from hypothesis import settings

steadily = settings(derandomize=True, deadline=None)
"""Put above `@given`."""

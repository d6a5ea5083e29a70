"""How long to wait before the next attempt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from duecourse.domain.targets.targets import Failed


class Backoff(StrEnum):
    """How the upper bound of the delay grows with the number of failed attempts."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`max_attempts` in all (1 = no retry); the delay after attempt n is between `min_seconds` and a bound b(n):

    - exponential: b(n) = min_seconds x 2^n: for 2 s: 4, 8, 16, 32 …
    - linear: b(n) = min_seconds x (n + 1): 4, 6, 8, 10 …
    - fixed: b(n) = min_seconds: 2, 2, 2 …

    b(n) never exceeds `max_seconds`. Within those bounds the delay is drawn evenly ("full jitter", AWS Architecture
    Blog, Exponential Backoff And Jitter), so that runs that failed together do not retry together; `fixed` has no
    jitter.

    `on` names the failures that are retried (None: the target's default), `never` those that are not: an HTTP status
    (`503`), a class of them (`5xx`), a code (`timeout`, `ThrottlingException`) or a pattern (`Throttling*`). No attempt
    begins later than `max_age_seconds` after the run was due, or was last redriven.
    """

    max_attempts: int = 4
    backoff: Backoff = Backoff.EXPONENTIAL
    min_seconds: float = 2
    max_seconds: float = 3600
    on: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    max_age_seconds: int | None = None

    def worth(self, failed: Failed) -> bool:
        """Whether to retry after this failure; a target's refusal is final."""
        if failed.forbidden or any(_names(word, failed.code) for word in self.never):
            return False
        return failed.retryable if self.on is None else any(_names(word, failed.code) for word in self.on)

    def delay(self, attempt: int, draw: float, retry_after: float | None = None) -> float:
        """Seconds to wait after failed attempt `attempt` (1 …). `draw` is a random number in [0, 1).

        A target's `retry_after` raises the delay, up to `max_seconds`.
        """
        match self.backoff:
            case Backoff.EXPONENTIAL:
                bound = self.min_seconds * 2.0 ** min(attempt, 62)
            case Backoff.LINEAR:
                bound = self.min_seconds * (attempt + 1)
            case Backoff.FIXED:
                bound = self.min_seconds
        bound = min(bound, self.max_seconds)
        low = min(self.min_seconds, bound)
        drawn = low + (bound - low) * draw
        return drawn if retry_after is None else min(max(drawn, retry_after), max(self.max_seconds, drawn))


def _names(word: str, code: str) -> bool:
    """Whether a rule's word matches a failure's code: `5xx` and `503` match `http.503`."""
    if len(word) == 3 and word.endswith("xx"):
        return code.startswith(f"http.{word[0]}")
    return fnmatchcase(code, word) or code == f"http.{word}"

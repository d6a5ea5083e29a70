"""What a run calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """An HTTP endpoint. `headers` are pairs, so that the whole stays hashable and ordered."""

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function of the stage's own account and region, by name; called synchronously."""

    function: str


Target = HttpTarget | LambdaTarget


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The call went well; `result` is what the target answered (JSON-able, already bounded)."""

    result: object = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed. `retryable` is the target's or adapter's word on whether another attempt makes sense,
    `retry_after` (seconds) the target's wish for when.
    """

    error: str
    retryable: bool = True
    retry_after: float | None = None


Outcome = Succeeded | Failed

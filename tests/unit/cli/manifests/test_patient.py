"""A tenant's limit is waited for; nothing else is asked twice."""

from __future__ import annotations

import pytest

from duecourse.cli.manifests.plan import PATIENCE_TRIES, patient
from duecourse.client import ApiError, ConflictError, TooManyRequestsError


def refused(error: ApiError, times: int) -> tuple[list[float], object]:
    """What is waited for, and what becomes of a request that is refused so often."""
    waits: list[float] = []
    answers = iter([error] * times)

    def ask() -> str:
        found = next(answers, None)
        if found is not None:
            raise found
        return "done"

    try:
        return waits, patient(ask, waits.append)
    except ApiError as raised:
        return waits, raised


def test_a_patient_client_waits_as_long_as_the_api_asks_for() -> None:
    assert refused(TooManyRequestsError(429, {}, 2.5), 2) == ([2.5, 2.5], "done")
    assert refused(TooManyRequestsError(429, {}), 1) == ([1.0], "done")


@pytest.mark.parametrize(
    ("error", "waits"), [(ConflictError(409, {}), 0), (TooManyRequestsError(429, {}, 1.0), PATIENCE_TRIES)]
)
def test_at_last_it_gives_up(error: ApiError, waits: int) -> None:
    waited, raised = refused(error, PATIENCE_TRIES + 1)
    assert (len(waited), raised) == (waits, error)

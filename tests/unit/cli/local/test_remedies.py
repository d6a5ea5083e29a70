"""Failures of the machine are shown with their remedy."""

from __future__ import annotations

import pytest

from duecourse.cli.local.remedies import remedied


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("OSError: [Errno 28] No space left on device", "free some space where the checkout and TMPDIR are"),
        ("npm error code EACCES", "use a checkout, a HOME and a TMPDIR that you can write to"),
        ("[Errno 98] error while attempting to bind: Address already in use", "another program has taken the port"),
        ("error: Failed to fetch: https://index.example/simple/", "packages of the layers are not in uv's cache"),
    ],
)
def test_a_known_failure_is_followed_by_its_remedy(said: str, remedy: str) -> None:
    assert remedied("cdk deploy failed", said).startswith(f"cdk deploy failed: {remedy}")


def test_an_unknown_failure_stays_as_it_is() -> None:
    assert remedied("cdk deploy failed", "ValidationError") == "cdk deploy failed"

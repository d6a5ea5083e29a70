"""What `duecourse local` says once its stack is up."""

from __future__ import annotations

from duecourse.cli.local.local import hints

API, ENDPOINT, RECEIVER = "http://127.0.0.1:4566/_aws/execute-api/7dbf4306", "http://127.0.0.1:4566", "http://r"


def test_the_console_is_the_first_thing_to_look_at() -> None:
    said = list(hints(API, f"{API}/console", ENDPOINT, RECEIVER))
    assert said[2:4] == ["  # the console, for a browser", f"  {API}/console"]


def test_without_a_console_no_address_of_one_is_named() -> None:
    assert not any("console" in line for line in hints(API, None, ENDPOINT, RECEIVER))

"""Payloads that take much, or look as if they did: what a tenant posts must not occupy a worker that others share."""

from __future__ import annotations

import pytest

from duecourse.domain.workflows.results import UpstreamResultError, blanked, filled, taken_by


def test_a_placeholder_that_never_ends_is_plain_text() -> None:
    text = "{{upstream." + " " * 200_000
    assert taken_by({"text": text}) == []
    assert blanked(text) == text


def test_spaces_belong_to_no_name() -> None:
    assert [name for _, name, _ in taken_by("{{ upstream.a.state  }}")] == ["upstream.a.state"]
    assert filled("{{  workflow.payload.day }}", {}, lambda: {"day": 5}).payload == 5


def test_three_braces_are_no_placeholder() -> None:
    """Braces of the value and of the text would make one."""
    assert blanked("{{{workflow.payload}}}") == "{{{workflow.payload}}}"
    assert taken_by("{{{workflow.payload}}}") == []


@pytest.mark.parametrize("text", ["{{workflow.payload}}", "of {{workflow.payload}}"])
def test_a_large_result_is_put_in_once_and_not_a_thousand_times(text: str) -> None:
    large = "x" * 200_000
    assert filled([text], {}, lambda: large).texts == {"workflow.payload": large}
    with pytest.raises(UpstreamResultError, match="takes more than 262144 bytes of its workflow"):
        filled([text] * 1000, {}, lambda: large)

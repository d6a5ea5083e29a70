"""Answers of boto3 as JSON."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from botocore.response import StreamingBody

from duecourse.adapters.targets.aws.aws_call import result_of
from duecourse.adapters.targets.http.connection import Deadline


def of(**answer):
    return result_of({**answer, "ResponseMetadata": {"RequestId": "r-1"}}, Deadline(5))


def streaming(data: bytes) -> StreamingBody:
    return StreamingBody(io.BytesIO(data), len(data))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("text", "text"),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        (None, None),
        ([1, {"a": (2,)}], [1, {"a": [2]}]),
        (2**70, str(2**70)),
        (b"\x00\xff", "AP8="),
        (datetime(2026, 11, 21, 6, 47, tzinfo=UTC), "2026-11-21T06:47:00+00:00"),
        (datetime(2026, 11, 21, tzinfo=timezone(timedelta(hours=1))), "2026-11-21T00:00:00+01:00"),
        (Decimal("1.5"), "1.5"),
        ({1: "a"}, {"1": "a"}),
    ],
)
def test_every_value_becomes_json(value, kept):
    assert of(Value=value) == {"Value": kept}


def test_the_metadata_of_the_response_is_left_out():
    assert of() == {}


@pytest.mark.parametrize(("data", "kept"), [("Grüße".encode(), "Grüße"), (b"\xff\x00", "/wA="), (b"", "")])
def test_a_body_that_streams_is_read(data, kept):
    assert of(Body=streaming(data)) == {"Body": kept}


def test_no_more_than_256_kb_of_it():
    body = streaming(b"x" * 5_000_000)
    result = of(Body=body)
    assert result["truncated"] is True
    assert len(result["text"]) == 256 * 1024


def test_a_large_answer_is_the_beginning_of_its_text():
    result = of(Items=["x" * 1_000] * 1_000)
    assert result["truncated"] is True
    assert result["text"].startswith('{"Items":["xxx')
    assert len(result["text"]) == 256 * 1024


def test_a_body_that_never_ends_is_given_up_at_the_deadline():
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"x"

    body = StreamingBody(Endless(), None)
    deadline = Deadline(0.05)
    with pytest.raises(TimeoutError):
        result_of({"Body": body}, deadline)

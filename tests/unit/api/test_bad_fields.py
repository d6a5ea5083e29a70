"""Each bad field of a posted job is named by its pointer, with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.api.bodies.definition_body import MAX_PAYLOAD_BYTES
from duecourse.api.problems import MAX_FAULTS
from tests.support.api import HTTP_TARGET
from tests.support.posting import errors, posted


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"schedule": 5}, "/schedule", "must be text"),
        ({"schedule": ""}, "/schedule", "must not be empty"),
        ({"schedule": "*" * 257}, "/schedule", "at most 256 characters"),
        ({"schedule": "nonsense"}, "/schedule", ""),
        ({"schedule": "at(2026-11-21T12:00:00)"}, "/schedule", "no occurrence in the future"),
        ({"schedule": "at(2020-01-01T00:00:00)"}, "/schedule", "no occurrence in the future"),
        ({"schedule": "0 0 30 2 *"}, "/schedule", ""),
        ({"schedule": "\ud800"}, "/schedule", "half of a surrogate pair"),
        ({"timezone": "Berlin"}, "/timezone", "Europe/Berlin"),
        ({"timezone": None}, "/timezone", "must be text"),
        ({"timezone": "../../etc/passwd"}, "/timezone", "not the name"),
        ({"dst_gap": "first"}, "/dst_gap", "must be one of next, skip"),
        ({"start": "tomorrow"}, "/start", "2026"),
        ({"start": 5}, "/start", "must be an instant in UTC"),
        ({"start": "9999-12-30T23:59:59Z"}, "/start", "from 0001-01-03T00:00:00Z to 9999-12-29T23:59:59Z"),
        ({"anchor": "0001-01-01T00:00:00Z"}, "/anchor", "from 0001-01-03T00:00:00Z to 9999-12-29T23:59:59Z"),
        ({"start": "2027-01-02T00:00:00Z", "end": "2027-01-01T00:00:00Z"}, "/end", ""),
        ({"end": "2026-01-01T00:00:00Z"}, "/schedule", "no occurrence in the future"),
        ({"exclude": "2026-12-25"}, "/exclude", "must be a list"),
        ({"exclude": ["2026-12-25", "christmas"]}, "/exclude/1", "write an instant as"),
        ({"exclude": ["2026-12-25/2026-12-24"]}, "/exclude/0", "ends before it begins"),
        ({"exclude": ["9999-12-31T23:59:59-14:00"]}, "/exclude/0", "outside of the years 1 to 9999 in UTC"),
        ({"exclude": ["0001-01-01T00:00:00+14:00"]}, "/exclude/0", "outside of the years 1 to 9999 in UTC"),
        (
            {"schedule": "at(2026-12-25T09:00:00)", "exclude": ["2026-12-24", "2026-12-25/2026-12-31"]},
            "/exclude/1",
            '"2026-12-25/2026-12-31" excludes 2026-12-25T09:00:00Z, and the schedule names no other time that is left',
        ),
        (
            {
                "schedule": "R3/2026-12-24T09:00:00Z/P1D",
                "timezone": "Europe/Berlin",
                "exclude": ["2026-12-24T10:00:00+01:00", "2026-12-25/2026-12-31"],
            },
            "/exclude/0",
            "excludes 2026-12-24T09:00:00Z, and the schedule names no other time that is left",
        ),
        (
            {"schedule": "at(2020-01-01T00:00:00)", "exclude": ["2020-01-01"]},
            "/schedule",
            "no occurrence in the future",
        ),
        ({"exclude": ["2026-12-25"] * 41}, "/exclude", "at most 40 entries"),
        ({"jitter_seconds": 3601}, "/jitter_seconds", "from 0 to 3600"),
        ({"max_runs": 0}, "/max_runs", "from 1 to 10000"),
        ({"dst_fold": "last"}, "/dst_fold", "must be one of first, second, both"),
        ({"id": ""}, "/id", "must be 1 to 64 letters"),
        ({"id": "a" * 65}, "/id", "must be 1 to 64 letters"),
        ({"id": "a\n"}, "/id", "must be 1 to 64 letters"),
        ({"id": "\uff41"}, "/id", "must be 1 to 64 letters"),
        ({"id": "a#b"}, "/id", "must be 1 to 64 letters"),
        ({"id": 7}, "/id", "must be text"),
        ({"name": "x" * 257}, "/name", "at most 256 characters"),
        ({"name": "a\nb"}, "/name", "control characters"),
        ({"name": "a\x00"}, "/name", "control characters"),
        ({"name": "\udfff"}, "/name", "half of a surrogate pair"),
        ({"owner": "x" * 129}, "/owner", "at most 128 characters"),
        ({"owner": "a\nb"}, "/owner", "control characters"),
        ({"owner": None}, "/owner", "must be text"),
        ({"description": "x" * 501}, "/description", "at most 500 characters"),
        ({"runbook_url": "ftp://example.com/x"}, "/runbook_url", "https:// or http://"),
        ({"runbook_url": "javascript:alert(1)"}, "/runbook_url", "https:// or http://"),
        ({"runbook_url": "https://example.com/a b"}, "/runbook_url", "without blanks"),
        ({"runbook_url": "https://" + "a" * 2048}, "/runbook_url", "at most 2048 characters"),
        ({"target": None}, "/target", "must be an object"),
        ({"target": []}, "/target", "must be an object"),
        ({"target": {}}, "/target/type", "is required"),
        ({"target": {"type": "smtp"}}, "/target/type", "must be one of http, lambda, sqs"),
        ({"target": {"type": []}}, "/target/type", "must be one of http, lambda, sqs"),
        ({"target": {"type": "http"}}, "/target/url", "is required"),
        ({"target": {"type": "lambda"}}, "/target/function", "is required"),
        ({"target": {"type": "lambda", "function": "billing"}}, "/target/function", "duecourse-target-*"),
        ({"target": {"type": "lambda", "function": "duecourse-target-a", "url": "x"}}, "/target/url", "not known"),
        ({"target": HTTP_TARGET | {"url": "https://" + "a" * 2048}}, "/target/url", "at most 2048 characters"),
        ({"target": HTTP_TARGET | {"method": "TRACE"}}, "/target/method", "must be one of GET, POST"),
        ({"target": HTTP_TARGET | {"headers": []}}, "/target/headers", "must be an object of names"),
        ({"target": HTTP_TARGET | {"headers": {"a": 1}}}, "/target/headers/a", "must be text"),
        ({"target": HTTP_TARGET | {"headers": {"a": "b\r\nc: d"}}}, "/target/headers", "line breaks"),
        ({"target": HTTP_TARGET | {"headers": {"a b": "c"}}}, "/target/headers", "only letters"),
        ({"target": HTTP_TARGET | {"headers": {"": "c"}}}, "/target/headers", "only letters"),
        ({"target": HTTP_TARGET | {"headers": {"a": "\u20ac"}}}, "/target/headers", "Latin-1"),
        ({"target": HTTP_TARGET | {"headers": {"X-Duecourse-Run-Id": "c"}}}, "/target/headers", "set by Duecourse"),
        ({"target": HTTP_TARGET | {"headers": {"host": "c"}}}, "/target/headers", "set by Duecourse"),
        ({"target": HTTP_TARGET | {"headers": {"x-a": "1", "X-A": "2"}}}, "/target/headers", "given twice"),
        ({"target": HTTP_TARGET | {"headers": {"x": "v" * 4097}}}, "/target/headers", "at most 4096"),
        (
            {"target": HTTP_TARGET | {"headers": {f"x{n}": "v" for n in range(51)}}},
            "/target/headers",
            "at most 50 entries",
        ),
        ({"payload": "x" * (MAX_PAYLOAD_BYTES - 1)}, "/payload", "store it elsewhere"),
        ({"payload": {"a": 2**64}}, "/payload/a", "beyond 64 bits"),
        ({"priority": "long"}, "/priority", "must be one of high, normal, low"),
        ({"priority": "High"}, "/priority", "must be one of high, normal, low"),
        ({"priority": None}, "/priority", "must be one of high, normal, low"),
        ({"priority": {}}, "/priority", "must be one of high, normal, low"),
        ({"timeout_seconds": 0}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": 841}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": 10**300}, "/timeout_seconds", ""),
        ({"timeout_seconds": 1e300}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": True}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": "30"}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": 1.5}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": float("nan")}, "/timeout_seconds", ""),
        ({"retry": {"never": [-1]}}, "/retry/never/0", "must be a status (503)"),
        ({"retry": []}, "/retry", "must be an object"),
        ({"retry": {"max_attempts": 101}}, "/retry/max_attempts", "from 1 to 100"),
        ({"retry": {"backoff": "none"}}, "/retry/backoff", "exponential, linear, fixed"),
        ({"retry": {"min_seconds": -1}}, "/retry/min_seconds", "from 0 to 86400"),
        ({"retry": {"min_seconds": True}}, "/retry/min_seconds", "must be a number"),
        ({"retry": {"min_seconds": 10, "max_seconds": 5}}, "/retry/max_seconds", "not be less than min_seconds"),
        ({"retry": {"min_seconds": 4000}}, "/retry/max_seconds", "the default is 3600"),
        ({"retry": {"max_attempt": 3}}, "/retry/max_attempt", "did you mean max_attempts?"),
        ({"missed": {"policy": "none"}}, "/missed/policy", "skip, run_once, run_all"),
        ({"missed": {"grace_seconds": 0}}, "/missed/grace_seconds", "from 5 to 86400"),
        ({"missed": {"max_missed": 101}}, "/missed/max_missed", "from 1 to 100"),
        ({"overlap": "wait"}, "/overlap", "must be one of skip, queue, newest, replace, allow"),
        ({"precision": "millisecond"}, "/precision", "must be one of second, exact"),
        ({"delivery": "exactly_once"}, "/delivery", "must be one of at_least_once, at_most_once"),
        ({"idempotency_key": ""}, "/idempotency_key", "must not be empty"),
        ({"idempotency_key": "{{weak}}"}, "/idempotency_key", "{{weak}} is unknown; known names: "),
        ({"idempotency_key": "{{attempt}}"}, "/idempotency_key", "may not be used here"),
        ({"idempotency_key": "a{{week"}, "/idempotency_key", "no partner"),
        ({"idempotency_key": "a\r\nb"}, "/idempotency_key", "printable ASCII"),
        ({"idempotency_key": "k" * 257}, "/idempotency_key", "at most 255 characters"),
        ({"tags": "billing"}, "/tags", "must be a list"),
        ({"events": ["deaths", "failures", "late", "all", "deaths"]}, "/events", "at most 4 entries"),
        ({"events": ["late", "late"]}, "/events", "names late more than once"),
        ({"tags": ["a", "b", "a"]}, "/tags", "names a more than once"),
        ({"tags": [str(n) for n in range(21)]}, "/tags", "at most 20 entries"),
        ({"tags": ["ok", "a b"]}, "/tags/1", "must be 1 to 64 letters"),
        ({"tags": ["a" * 65]}, "/tags/0", "must be 1 to 64 letters"),
        ({"tags": [{}]}, "/tags/0", "must be text"),
        ({"Schedule": "x"}, "/Schedule", "did you mean schedule?"),
        ({"depends_on": []}, "/depends_on", "the fields are "),
        ({"__class__": "x"}, "/__class__", "is not known here"),
    ],
)
def test_a_bad_field_is_named_with_the_remedy(change: dict[str, Any], place: str, said: str) -> None:
    found = errors(posted(**change))
    assert list(found) == [place]
    assert said in found[place]


def test_of_many_unknown_fields_as_many_are_hinted_at_as_are_listed() -> None:
    found = errors(posted(**{f"schedule{number:02}": 1 for number in range(60)}))
    assert len(found) == 60
    hinted = [place for place, said in found.items() if "did you mean schedule?" in said]
    assert hinted == [f"/schedule{number:02}" for number in range(MAX_FAULTS)]

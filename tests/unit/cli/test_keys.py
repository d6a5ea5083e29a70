"""`duecourse keys`."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from duecourse.cli.main import main
from tests.support.http_target import answering, http_target
from tests.unit.cli.imports.test_calendar_days import told

KEY: dict[str, Any] = {
    "id": "3f1c9a7be04d5528",
    "scope": "run:report",
    "description": "GitHub",
    "created_at": "2026-11-21T09:00:00.000Z",
    "created_by": "anna",
    "expires_at": "2027-02-19T09:00:00Z",
    "last_used_at": None,
    "requests_per_minute": 60,
    "debounce_seconds": None,
    "debounce_key": None,
    "deduplicate_key": None,
    "signed": False,
}
MADE = KEY | {"key": "dck_acme.SECRET", "path": "/v1/hooks/dck_acme.SECRET", "secret": None}


def test_keys_created_key_is_printed_once_as_a_url() -> None:
    made = told(MADE, "keys", "create", "--scope", "run:report")
    assert made.stdout.endswith("/v1/hooks/dck_acme.SECRET\n")
    assert made.stdout.count("\n") == 1
    assert "key 3f1c9a7be04d5528 can run report until 2027-02-19" in made.stderr
    document = json.loads(told(MADE, "keys", "create", "--scope", "run:report", "--json").stdout)
    assert document["key"] == "dck_acme.SECRET"
    assert document["url"].endswith(document["path"])


def test_keys_options_have_the_limits_and_defaults_of_the_api() -> None:
    shown = " ".join(told(MADE, "keys", "create", "--help").stdout.split())
    assert "--days DAYS Expire after this many days. [default: 90] [1<=x<=366]" in shown
    refused = told(MADE, "keys", "create", "--scope", "run:report", "--days", "367")
    assert refused.exit_code == 2
    assert "--days" in refused.stderr


def test_keys_secret_of_a_signed_key_follows_its_url() -> None:
    made = told(MADE | {"signed": True, "secret": "5ec2e7"}, "keys", "create", "--scope", "run:report", "--signed")
    url, secret = made.stdout.splitlines()
    assert (url.rpartition("/")[2], secret) == ("dck_acme.SECRET", "5ec2e7")
    assert "this URL and the secret cannot be shown again" in made.stderr


def test_keys_with_scopes_are_printed_without_a_url() -> None:
    scoped = MADE | {"scope": "jobs:read:tag=a jobs:read:tag=b", "path": "/key"}
    made = told(scoped, "keys", "create", "--scope", "jobs:read", "--tag", "a", "--tag", "b")
    assert made.stdout == "dck_acme.SECRET\n"
    assert "key 3f1c9a7be04d5528 has jobs:read:tag=a jobs:read:tag=b until 2027-02-19; it cannot be" in made.stderr
    document = json.loads(told(scoped, "keys", "create", "--scope", "jobs:read", "--json").stdout)
    assert document["url"].endswith("/key")


@pytest.mark.parametrize(("given", "scope"), [
    (["--scope", "jobs:read"], "jobs:read"),
    (["--scope", "jobs:read", "--scope", "jobs:write"], "jobs:read jobs:write"),
    (["--scope", "jobs:read", "--scope", "jobs:write", "--tag", "a"], "jobs:read:tag=a jobs:write:tag=a"),
])  # fmt: skip
def test_keys_scopes_and_tags_are_sent_as_one_scope(given: list[str], scope: str) -> None:
    with http_target(answering(201, json.dumps(MADE).encode())) as server:
        done = CliRunner(env={"DUECOURSE_API": server.url("").rstrip("/")}).invoke(main, ["keys", "create", *given])
        assert done.exit_code == 0, done.output
        (sent,) = server.seen
    assert json.loads(sent.body)["scope"] == scope


def test_keys_are_listed_without_their_text() -> None:
    listed = told({"items": [KEY, KEY | {"last_used_at": "2026-11-21T10:00:00.000Z"}]}, "keys", "list").output
    lines = listed.splitlines()
    assert lines[0].split() == ["key", "scope", "expires", "last", "used", "(UTC)", "description"]
    assert lines[1].split() == ["3f1c9a7be04d5528", "run:report", "2027-02-19", "-", "GitHub"]
    assert all(len(line) <= 80 for line in lines)
    assert json.loads(told({"items": [KEY]}, "keys", "list", "--json").stdout) == {"items": [KEY]}


def test_keys_are_revoked_after_a_question() -> None:
    assert "is revoked" in told({}, "keys", "delete", KEY["id"], "--yes").output
    assert told({}, "keys", "delete", KEY["id"]).exit_code != 0

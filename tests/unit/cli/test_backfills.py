"""`duecourse runs watch` for a backfill: its progress, its exit codes, Ctrl-C."""

import json
import signal
from collections.abc import Mapping

import pytest

from tests.unit.cli.served import RUN, Answering, duecourse, served, started

BACKFILL = "nightly.bQ7"
FACTS = {"runs": 3, "suffix": ".bQ7", "from": "2026-11-20T00:00:00Z", "to": "2026-11-23T00:00:00Z"}
CHANGE = {"at": "2026-11-23T10:00:00.000Z", "principal": "anna", "action": "backfilled", "revision": 1, "changes": []}


def answering(*states: str, facts: Mapping[str, object] = FACTS) -> Answering:
    """The answers of an API with one backfill, whose listed runs are in these states, and with one other run."""
    runs = [
        {**RUN, "id": f"nightly.202611{20 + number}T030000Z.bQ7", "state": state} for number, state in enumerate(states)
    ]

    def answer(path: str, query: Mapping[str, str]) -> object:
        if path.endswith("/history"):
            return {"items": [{**CHANGE, "facts": dict(facts)}], "next_cursor": None}
        assert (query["from"], query["to"]) == (facts["from"], facts["to"])
        return {"items": [*runs, {**RUN, "state": "RUNNING"}], "next_cursor": None}

    return answer


@pytest.mark.parametrize(
    ("states", "options", "code", "said"),
    [
        (["SUCCEEDED"] * 3, [], 0, ""),
        (["SUCCEEDED", "DEAD", "SKIPPED"], [], 1, "2 runs did not succeed; see duecourse runs list nightly"),
        (["SUCCEEDED", "RUNNING"], ["--timeout", "0"], 124, "follow them with duecourse runs watch nightly.bQ7"),
    ],
)
def test_backfill_is_followed_until_its_runs_have_ended(
    states: list[str], options: list[str], code: int, said: str
) -> None:
    with served(answering(*states)) as api:
        result = duecourse(api, "runs", "watch", BACKFILL, *options)
        as_json = json.loads(duecourse(api, "runs", "watch", BACKFILL, *options, "--json").stdout)
    assert result.exit_code == code, result.output
    ended = sum(state != "RUNNING" for state in states)
    assert result.stdout.startswith(f"{ended} of 3 runs have ended: ")
    assert said in result.stderr
    assert (as_json["id"], as_json["runs"], as_json["ended"]) == (BACKFILL, 3, ended)


def test_backfill_that_does_not_exist_is_named() -> None:
    with served(answering(facts={**FACTS, "suffix": ".bOther"})) as api:
        result = duecourse(api, "runs", "watch", BACKFILL)
    said = "duecourse: nightly has no backfill .bQ7 among its last 500 changes; see duecourse jobs history nightly\n"
    assert (result.exit_code, result.stderr) == (1, said)


def test_backfill_continues_after_ctrl_c() -> None:
    with served(answering("SUCCEEDED", "RUNNING")) as api, started(api, "runs", "watch", BACKFILL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1 of 3 runs have ended: 1 SUCCEEDED, 1 RUNNING\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    said = "duecourse: the backfill continues; follow it with duecourse runs watch nightly.bQ7\n"
    assert (process.returncode, errors) == (130, said)

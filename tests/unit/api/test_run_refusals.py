"""What is refused about runs before any store is asked."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.runs.callbacks import CallbackToken
from tests.support.api import untouchable_client

NAME = "steady.20261121T120000Z"
TOKEN = str(CallbackToken("default", 1, "s" * 16))


@pytest.mark.parametrize("action", ["heartbeat", "complete", "fail"])
@pytest.mark.parametrize(
    "token",
    [
        "",
        "dc1",
        "dc2.default.1." + "s" * 16,
        "dc1.default.0." + "s" * 16,
        "dc1.default.01." + "s" * 16,
        "dc1.default.1." + "s" * 9,
        "dc1.default.1." + "s" * 65,
        "dc1.de#ault.1." + "s" * 16,
        "dc1.default.1." + "s" * 16 + ".x",
        "dc1.default.\u0661." + "s" * 16,
        TOKEN + "\n" + TOKEN,
        TOKEN + ", " + TOKEN,
    ],
)
def test_what_is_no_token_costs_no_read(action: str, token: str) -> None:
    answer = untouchable_client().post({"error": "x"}, f"/v1/runs/{NAME}/{action}", token=token)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")


@pytest.mark.parametrize("action", ["heartbeat", "complete", "fail"])
def test_a_token_for_what_is_no_run_costs_no_read(action: str) -> None:
    body: Any = {"error": "x"} if action == "fail" else {}
    assert untouchable_client().post(body, "/v1/runs/steady/" + action, token=TOKEN).status == 401


@pytest.mark.parametrize("action", ["cancel", "redrive"])
def test_what_is_no_run_id_costs_no_read(action: str) -> None:
    assert untouchable_client().ask(f"/v1/runs/steady/{action}").status == 404

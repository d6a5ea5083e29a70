"""Many conditional writes in few requests: what becomes of each when DynamoDB says no, in all the ways it can."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from duecourse.adapters.dynamodb.writing import TRIES, Statement, execute
from duecourse.ports import ClaimResult, InlineExecutor
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON

BAD = "bad"


@dataclass
class Answers:
    """A DynamoDB client: a statement is answered by the error named in its text, `fine` by none. `whole` is raised for
    requests in which it is named; `puts_off` statements are throttled that often.
    """

    whole: Exception | None = None
    puts_off: dict[str, int] = field(default_factory=dict)
    requests: list[list[str]] = field(default_factory=list)

    def batch_execute_statement(self, *, Statements: list[Statement]) -> dict[str, Any]:  # noqa: N803 - boto3's word
        texts = [statement["Statement"] for statement in Statements]
        self.requests.append(texts)
        if self.whole is not None and BAD in texts:
            raise self.whole
        return {"Responses": [self._answer(text) for text in texts]}

    def _answer(self, text: str) -> dict[str, Any]:
        if self.puts_off.get(text, 0) > 0:
            self.puts_off[text] -= 1
            return {"Error": {"Code": "ThrottlingError", "Message": "slower"}}
        return {} if text.startswith("fine") or text in self.puts_off else {"Error": {"Code": text, "Message": "no"}}


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "said no"}}, "BatchExecuteStatement")


def results(client: Answers, *texts: str) -> list[ClaimResult]:
    done = execute(client, [{"Statement": text} for text in texts], SettableClock(NOON), InlineExecutor())
    return [outcome.claimed().result for outcome in done]


def test_a_request_holds_25_statements_and_answers_come_in_order() -> None:
    client = Answers()
    texts = ["fine"] * 30 + ["ConditionalCheckFailed"] + ["fine"] * 30
    assert results(client, *texts) == [ClaimResult.WON] * 30 + [ClaimResult.LOST] + [ClaimResult.WON] * 30
    assert [len(request) for request in client.requests] == [25, 25, 11]


def test_a_throttled_statement_is_sent_again_alone_and_a_little_later_each_time() -> None:
    client, clock = Answers(puts_off={"busy": 2}), SettableClock(NOON)
    statements = [{"Statement": text} for text in ("fine 1", "busy", "fine 2")]
    outcomes = execute(client, statements, clock, InlineExecutor())
    assert [outcome.code for outcome in outcomes] == [None, None, None]
    assert [outcome.claimed().throttled for outcome in outcomes] == [0, 2, 0]
    assert client.requests == [["fine 1", "busy", "fine 2"], ["busy"], ["busy"]]
    assert round(clock.now() - NOON, 6) == 0.3


def test_a_statement_that_stays_throttled_is_left_to_later_and_says_why() -> None:
    client, clock = Answers(puts_off={"busy": 99}), SettableClock(NOON)
    (outcome,) = execute(client, [{"Statement": "busy"}], clock, InlineExecutor())
    assert outcome.claimed().result is ClaimResult.BUSY
    assert outcome.claimed().error == "ThrottlingError: slower"
    assert len(client.requests) == TRIES


def test_a_statement_that_can_never_succeed_is_refused_and_not_tried_again() -> None:
    client = Answers()
    assert results(client, "fine", "ValidationError", "fine") == [ClaimResult.WON, ClaimResult.REFUSED, ClaimResult.WON]
    assert len(client.requests) == 1


def test_a_statement_that_spoils_its_request_costs_no_other_its_claim() -> None:
    client = Answers(whole=refused("ValidationException"))
    assert results(client, "fine 1", BAD, "fine 2") == [ClaimResult.WON, ClaimResult.REFUSED, ClaimResult.WON]
    assert client.requests == [["fine 1", BAD, "fine 2"], ["fine 1"], [BAD], ["fine 2"]]


def test_a_request_that_is_not_allowed_or_gets_no_answer_has_failed_for_all_and_is_not_repeated_here() -> None:
    for trouble in (refused("AccessDeniedException"), ReadTimeoutError(endpoint_url="x")):
        client = Answers(whole=trouble)
        assert results(client, "fine", BAD) == [ClaimResult.FAILED] * 2
        assert len(client.requests) == 1

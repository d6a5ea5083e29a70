"""Roles in whose name jobs call AWS."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from duecourse.adapters.targets.aws.aws_call import Roles
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.domain.targets.targets import AwsTarget
from duecourse.testing.clock import SettableClock
from tests.support.aws_targets import ARNS, Service
from tests.support.calls import a_call, a_run
from tests.support.varied import varied

NOW = 1_795_243_620.0
TARGET = AwsTarget("sqs", "SendMessage", {}, "duecourse-target-sender")


def answer(number: int, lifetime: float = 3600) -> dict:
    return {
        "Credentials": {
            "AccessKeyId": f"ASIA{number}",
            "SecretAccessKey": "secret",
            "SessionToken": "token",
            "Expiration": datetime.fromtimestamp(NOW + lifetime, UTC),
        }
    }


@pytest.fixture
def sts() -> Service:
    return Service(answer(1))


@pytest.fixture
def time() -> SettableClock:
    return SettableClock(NOW)


@pytest.fixture
def roles(sts, time) -> Roles:
    return Roles(time, sts.client_for, ARNS)


def assume(roles, call=None, role=TARGET.role, seconds=5):
    return roles.assume(role, call or a_call(TARGET), Deadline(seconds))


def test_the_role_is_one_of_the_stages_account_and_the_session_is_named_after_tenant_and_job(roles, sts):
    assert assume(roles).access_key_id == "ASIA1"
    assert sts.asked == [
        {
            "RoleArn": "arn:aws:iam::123456789012:role/duecourse-target-sender",
            "RoleSessionName": "acme.nightly",
        }
    ]


def test_other_partitions_have_arns_of_their_own(sts, time):
    assume(Roles(time, sts.client_for, replace(ARNS, partition="aws-cn")))
    assert sts.asked[0]["RoleArn"].startswith("arn:aws-cn:iam::")


def test_credentials_serve_until_five_minutes_before_they_expire(roles, sts, time):
    first = assume(roles)
    time.advance(3299)
    assert assume(roles) == first
    assert len(sts.asked) == 1
    time.advance(1)
    sts.answer = answer(2, 7200)
    assert assume(roles).access_key_id == "ASIA2"
    assert len(sts.asked) == 2


def test_roles_and_jobs_share_no_credentials(roles, sts):
    assume(roles)
    assume(roles, role="duecourse-target-other")
    assume(roles, replace(a_call(TARGET), run=a_run(job_id="other")))
    assert len(sts.asked) == 3


def test_credentials_that_a_service_refused_are_not_used_again(roles, sts):
    assume(roles)
    roles.forget(TARGET.role, a_call(TARGET))
    roles.forget("never-heard-of", a_call(TARGET))
    assume(roles)
    assert len(sts.asked) == 2


def test_the_longest_session_name_begins_with_the_tenant(roles, sts):
    call = replace(a_call(TARGET), run=varied(a_run(job_id="j" * 64), tenant="t" * 60))
    assume(roles, call)
    assert sts.asked[0]["RoleSessionName"] == "t" * 60 + ".jjj"


def test_sts_is_waited_for_no_longer_than_the_call_may_take(roles, sts):
    assume(roles, seconds=3)
    assume(roles, role="duecourse-target-other", seconds=300)
    assert sts.waits == [3, 10]


def test_no_more_than_some_hundred_are_kept(roles, sts):
    for number in range(257):
        assume(roles, role=f"duecourse-target-{number}")
    assume(roles, role="duecourse-target-256")
    assert len(sts.asked) == 257
    assume(roles, role="duecourse-target-0")
    assert len(sts.asked) == 258


def test_sts_understands_the_request(mocked, clock):
    credentials = assume(Roles(clock, partial(mocked.calling, "sts"), ARNS))
    assert credentials.access_key_id
    assert credentials.expires_at > 0

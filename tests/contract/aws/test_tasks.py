"""Named targets, on MiniStack's Parameter Store."""

from __future__ import annotations

from uuid import uuid4

from duecourse.adapters.aws.tasks import SsmTasks
from duecourse.domain.targets.targets import SqsTarget
from duecourse.ports import RegisteredTask
from duecourse.testing.clock import SettableClock


def test_a_task_is_found_from_the_moment_it_is_registered(clients):
    ssm, clock, stage = clients.get("ssm"), SettableClock(1_795_243_620.0), uuid4().hex
    tasks = SsmTasks(ssm, stage, clock)
    assert tasks.get("invoice") is None
    document = '{"target": {"type": "sqs", "queue": "invoices"}, "defaults": {"timeout_seconds": 60}}'
    ssm.put_parameter(Name=f"/duecourse/{stage}/tasks/invoice", Value=document, Type="String")
    clock.advance(5)
    assert tasks.get("invoice") == RegisteredTask(SqsTarget("invoices"), {"timeout_seconds": 60})
    assert SsmTasks(ssm, "another", clock).get("invoice") is None

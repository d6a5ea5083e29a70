"""Names by which AWS recognises an attempt."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from duecourse.adapters.targets.aws.names import attempt_name, deduplication_id
from duecourse.domain.targets.targets import SqsTarget
from tests.support.aws_targets import a_waiting_call
from tests.support.calls import a_call, a_run
from tests.support.varied import varied

TARGET = SqsTarget("orders")


def of(call, **fields):
    return replace(call, run=varied(call.run, **fields))


@pytest.mark.parametrize("limit", [64, 80])
def test_the_longest_name_fits_and_is_safe(limit):
    call = replace(a_call(TARGET), run=a_run(job_id="j" * 64, suffix=".b" + "s" * 32, attempt=123))
    name = attempt_name(call, limit)
    assert len(name) == limit
    assert re.fullmatch(r"[A-Za-z0-9_-]+", name)


def test_a_name_shows_run_and_attempt():
    assert attempt_name(a_call(TARGET, attempt=2), 80).startswith("nightly-20261121T064700Z-2-")


def test_an_attempt_has_one_name_and_no_other_has_it():
    call = a_call(TARGET)
    others = [
        of(call, attempt=2),
        of(call, tenant="other"),
        of(call, job_id="nightly2"),
        of(call, occurrence=call.run.occurrence + 1),
        of(call, suffix=".m1"),
    ]
    names = [attempt_name(call, 64), *(attempt_name(other, 64) for other in others)]
    assert len(set(names)) == 6
    assert attempt_name(a_call(TARGET), 64) == names[0]


def test_names_that_are_cut_alike_still_differ():
    long = replace(a_call(TARGET), run=a_run(job_id="j" * 64))
    assert attempt_name(long, 64) != attempt_name(of(long, attempt=2), 64)


def test_attempts_of_a_run_are_repeats_to_a_fifo_queue():
    call = a_call(TARGET, idempotency_key="report-2026-W47")
    assert deduplication_id(call) == deduplication_id(of(call, attempt=2))
    assert re.fullmatch("[0-9a-f]{64}", deduplication_id(call))


def test_tenants_with_the_same_key_do_not_lose_each_others_messages():
    call = a_call(TARGET, idempotency_key="report-2026-W47")
    assert deduplication_id(call) != deduplication_id(of(call, tenant="other"))


def test_each_attempt_that_waits_for_a_callback_brings_its_own_token_through():
    call = a_waiting_call(TARGET)
    assert deduplication_id(call) == deduplication_id(a_waiting_call(TARGET))
    assert deduplication_id(call) != deduplication_id(of(call, attempt=2))

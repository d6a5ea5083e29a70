"""Circuit breakers: when they open, who probes, and what the end of an attempt changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.job import MAX_OPEN_SECONDS, Breaker, Job
from duecourse.domain.targets.targets import Failed, HttpTarget, LambdaTarget, Outcome, Returned
from duecourse.domain.targets.template import TemplateError
from duecourse.gates.breaker import (
    BreakerGate,
    BreakerState,
    Closed,
    Probe,
    Verdict,
    WaitUntil,
    decide_end,
    decide_start,
    held_until,
    verdict_of,
)
from duecourse.gates.gate import SPREAD_SECONDS
from duecourse.limits import MAX_DELAY_SECONDS
from tests.support.jobs import job

NOW = 1_000_000.0
RULE = Breaker("crm", 3, 60)
OPEN = BreakerState(3, int(NOW) + 60, 60)


def start(state: BreakerState, now: float, run: str = "a", token: str = "t", draw: float = 0.5) -> object:
    return decide_start(state, run, token, now=now, lease_until=now + 90, draw=draw)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Returned("yes"), Verdict.WORKS),
        (Failed("", code="http.429"), Verdict.FAILS),
        (Failed("", code="http.500"), Verdict.FAILS),
        (Failed("", code="timeout", retryable=False), Verdict.FAILS),
        (Failed("", code="connection"), Verdict.FAILS),
        (Failed("", code="tls"), Verdict.FAILS),
        (Failed("", code="http.503", forbidden=True), Verdict.FAILS),
        (Failed("", code="http.404"), Verdict.REJECTS),
        (Failed("", code="http.408"), Verdict.REJECTS),
        (Failed("", code="http.302", retryable=False), Verdict.REJECTS),
        (Failed("", code="bad_template", retryable=False), Verdict.NOTHING),
        (Failed("", code="secrets_unavailable"), Verdict.NOTHING),
        (Failed("", code="connector_unavailable"), Verdict.NOTHING),
        (Failed("", code="TooManyRequestsException"), Verdict.FAILS),
        (Failed("", code="AccessDenied", retryable=False), Verdict.NOTHING),
        (Failed("", code="ValueError", forbidden=True), Verdict.REJECTS),
    ],
)
def test_breaker_outcome_counts_if_the_target_fails(outcome: Outcome, verdict: Verdict) -> None:
    assert verdict_of(outcome) is verdict


def test_breaker_closed_breaker_lets_attempts_start() -> None:
    assert start(BreakerState(), NOW) == start(BreakerState(2), NOW) == Closed()


def test_breaker_attempts_wait_for_an_open_breaker_and_are_spread_after_it() -> None:
    waits = {run: start(OPEN, NOW, run) for run in map(str, range(50))}
    instants = [wait.at for wait in waits.values() if isinstance(wait, WaitUntil)]
    assert len(instants) == 50
    assert all(NOW + 60 <= at < NOW + 60 + SPREAD_SECONDS for at in instants)
    assert max(instants) - min(instants) > 20
    assert waits["7"] == start(OPEN, NOW + 59, "7", draw=0.1)
    short = BreakerState(3, int(NOW) + 4, 4)
    assert all(NOW + 4 <= wait.at < NOW + 8 for run in waits if isinstance(wait := start(short, NOW, run), WaitUntil))


def test_breaker_worker_whose_clock_is_ahead_starts_no_second_probe_before_the_lease_of_the_first_ends() -> None:
    opened, lease_until = BreakerState(3, int(NOW), 60), NOW + 90
    probe = start(opened, NOW, token="first")
    assert isinstance(probe, Probe)
    assert isinstance(start(probe.after, lease_until + CLOCKS_DIFFER_SECONDS - 0.1, token="second"), WaitUntil)
    assert isinstance(start(probe.after, lease_until + CLOCKS_DIFFER_SECONDS + 1, token="second"), Probe)


def test_breaker_attempts_try_again_after_15_minutes_if_it_is_open_longer() -> None:
    held = held_until(BreakerState(), NOW + 86400)
    wait = start(held, NOW)
    assert isinstance(wait, WaitUntil)
    assert NOW + MAX_DELAY_SECONDS - SPREAD_SECONDS <= wait.at < NOW + MAX_DELAY_SECONDS


def test_breaker_first_attempt_after_it_is_the_probe_and_the_others_wait() -> None:
    probe = start(OPEN, NOW + 60)
    assert probe == Probe(replace(OPEN, probe="t", probe_until=int(NOW) + 160))
    assert isinstance(probe, Probe)
    assert start(probe.after, NOW + 61) == Closed()
    assert start(probe.after, NOW + 61, token="u", draw=0.0) == WaitUntil(NOW + 66)
    assert start(probe.after, NOW + 61, token="u", draw=0.999) == WaitUntil(pytest.approx(NOW + 91, abs=0.1))
    assert isinstance(start(probe.after, NOW + 160, token="u"), Probe)


def test_breaker_opens_at_the_last_allowed_failure() -> None:
    assert decide_end(BreakerState(2), Verdict.FAILS, "t", RULE, now=NOW) == BreakerState(2)
    assert decide_end(BreakerState(3), Verdict.FAILS, "t", RULE, now=NOW) == OPEN
    assert decide_end(BreakerState(7), Verdict.FAILS, "t", RULE, now=NOW) == replace(OPEN, failures=7)


def test_breaker_success_clears_the_failures() -> None:
    assert decide_end(BreakerState(2), Verdict.WORKS, "t", RULE, now=NOW) == BreakerState()
    for verdict in (Verdict.REJECTS, Verdict.NOTHING):
        assert decide_end(BreakerState(2), verdict, "t", RULE, now=NOW) == BreakerState(2)


def test_breaker_only_its_probe_changes_an_open_breaker() -> None:
    probing = replace(OPEN, probe="t", probe_until=int(NOW) + 150)
    for verdict in Verdict:
        assert decide_end(OPEN, verdict, "t", RULE, now=NOW + 61) == OPEN
        assert decide_end(probing, verdict, "u", RULE, now=NOW + 61) == probing
    for verdict in (Verdict.WORKS, Verdict.REJECTS):
        assert decide_end(probing, verdict, "t", RULE, now=NOW + 61) == BreakerState()
    assert decide_end(probing, Verdict.NOTHING, "t", RULE, now=NOW + 61) == OPEN
    assert decide_end(probing, Verdict.FAILS, "t", RULE, now=NOW + 61) == BreakerState(3, int(NOW) + 181, 120)


def test_breaker_opens_twice_as_long_after_each_failed_probe_up_to_a_quarter_of_an_hour() -> None:
    state, lengths = OPEN, []
    for _ in range(6):
        probing = replace(state, probe="t", probe_until=int(NOW) + 150)
        state = decide_end(probing, Verdict.FAILS, "t", RULE, now=NOW)
        lengths.append(state.open_seconds)
    assert lengths == [120, 240, 480, 900, 900, 900]
    assert lengths[-1] == MAX_OPEN_SECONDS


@pytest.mark.parametrize(
    ("breaker", "made", "key"),
    [
        (Breaker(None, 3, 60), job("", target=HttpTarget("https://API.example.com:8443/x?y")), "api.example.com"),
        (Breaker(None, 3, 60), job("", target=HttpTarget(f"https://{'a' * 200}.example.com")), "a" * 128),
        (Breaker(None, 3, 60), job("", target=HttpTarget("https://erp.corp/x", via="office")), "erp.corp_via_office"),
        (Breaker("crm-{{payload.region}}", 3, 60), job("", payload={"region": "eu"}), "crm-eu"),
    ],
)
def test_breaker_key_is_the_host_or_the_rendered_template(breaker: Breaker, made: Job, key: str) -> None:
    assert BreakerGate().key(breaker, made) == key


def test_breaker_other_targets_need_a_key() -> None:
    with pytest.raises(TemplateError, match="needs a key"):
        BreakerGate().key(Breaker(None, 3, 60), job("", target=LambdaTarget("f")))

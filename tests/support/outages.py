"""Outages, each with the paging alarm that names it and what the first commands of its runbook must contain; and busy
hours in which nothing is wrong.

An outage happens as far as it can in one process (tests/support/alarm_cases), and real code reports it. What AWS's
services add is put into the metrics as their documentation says:

- CloudWatch has a minute's datapoint when the minute is over. Lambda's, SQS's and API Gateway's metrics have a minute's
  granularity (AWS Lambda Developer Guide, "Types of metrics for Lambda functions"; Amazon API Gateway Developer Guide,
  "Working with metrics for HTTP APIs"). Publishing takes one to two minutes more, for every alarm alike.
- A message in flight is not visible, and its delivery is not counted again before its visibility timeout (Amazon SQS
  Developer Guide, "Amazon SQS visibility timeout"). The age of a queue's oldest message leaves out messages received
  three times or more ("Available CloudWatch metrics for Amazon SQS"), so no alarm of ours uses it.
- SQS's counts are approximate for about a minute (Amazon SQS API Reference, "GetQueueAttributes"): the tick looks
  twice.
- A metric that has no data in a period is left out of SUM and MAX over a list; any other expression with it has no
  value. FILL completes a metric that has some data; for one that never had any, the guide does not say so (Amazon
  CloudWatch User Guide, "Using math expressions with CloudWatch metrics"). No alarm of ours uses FILL.
- Role and key of a queue are those of its consumer: without either, Lambda's pollers receive nothing (AWS Lambda
  Developer Guide, "Using Lambda with Amazon SQS": execution role permissions), and due messages stay visible.
- An invocation that Lambda throttles leaves its messages in flight until their visibility timeout ends (ibid.,
  "Configuring scaling behavior"). ClaimedAccountConcurrency is at the quota as long as unreserved functions are
  throttled for lack of the account's concurrency ("Monitoring concurrency").
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from duecourse.domain.targets.targets import Returned
from duecourse.limits import FAILED_SHARE, REFUSED_CALLBACKS
from duecourse.ports import Depth
from duecourse.usecases.report import Report
from duecourse.usecases.worker.trends import Counts, Trends
from tests.support.alarm_cases import api, dispatch, maintenance, runs, services
from tests.support.alarm_cases.parts import broken, failing, fill
from tests.support.jobs import job
from tests.support.observed import Observed

Story = Callable[[Observed], None]
TARGETS = tuple(f"target-{number}.example.com" for number in range(10))


@dataclass(frozen=True)
class Outage:
    """What happens, which alarm pages for it within `seconds` of the first data, and what its runbook begins with."""

    story: Story
    alarm: str
    first: str
    seconds: int = 300


def clock_doubled(observed: Observed) -> None:
    """Two ticks a minute, as of a second rule: harmless, since the queue deduplicates them. No outage."""
    observed.world.add(job("rate(60 seconds)"))
    observed.minutes(20, each=observed.tick)


def clock_behind(observed: Observed) -> None:
    """The functions' clock is ten minutes slow: what they dispatch as due came due long ago."""
    observed.world.add(job("rate(60 seconds)"))
    trends = Trends()
    for _ in range(8):
        observed.minutes(1, working=False)
        told(observed, trends, Counts(attempts=4, called=frozenset(TARGETS[:1])), starts=4, late=4)


def key_disabled(observed: Observed) -> None:
    """Neither table nor queue can be used: the tick fails, too, and the topics of the alarms need no key."""
    observed.minutes(3)
    for _ in range(8):
        observed.minutes(1, ticking=False, working=False)
        observed.of_function("Tick", "Invocations", 1)
        observed.of_function("Tick", "Errors", 1)


def told(observed: Observed, trends: Trends, batch: Counts, *, starts: int = 0, late: int = 0) -> None:
    """A worker's process reports a batch, in which some of the runs started ten minutes late."""
    report = Report()
    for number in range(starts):
        report.measure("Lateness", 600.0 if number < late else 0.1)
    trends.add(batch, observed.world.clock.now(), report, FAILED_SHARE)
    observed.publish(report, function="execute", lane=observed.lane)


def shard_queue_refuses(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)"))
    observed.minutes(3)
    observed.ticks.refuses = True
    observed.minutes(20, dispatching=False)


def all_targets_down(observed: Observed) -> None:
    observed.world.caller.answer = failing
    runs.several_targets(observed, 5)
    observed.minutes(8)


def tenant_flood(observed: Observed) -> None:
    """One tenant's runs fill a bulk queue: they start later and later, in ten processes."""
    processes = [Trends() for _ in range(10)]
    for _ in range(6):
        for trends in processes:
            told(observed, trends, Counts(attempts=50, called=frozenset(TARGETS)), starts=50, late=50)
        observed.minutes(1)


def hot_shard(observed: Observed) -> None:
    """The index throttles one shard's claims."""
    dispatch.throttling_that_stays(observed)


def bad_release(observed: Observed) -> None:
    """A tenth of the invocations are of a version that cannot be imported."""
    crashes(observed, of_batches=10, every=10)


def crashes(observed: Observed, *, of_batches: int, every: int) -> None:
    """Every nth of a minute's invocations is killed."""
    for _ in range(8):
        for number in range(of_batches):
            killed = number % every == 0
            observed.of_function("ExecuteNormal", "Errors", float(killed))
            if not killed:
                batches(observed, 1)
        observed.minutes(1)


def rare_crashes(observed: Observed) -> None:
    """Every invocation is killed, and there is one run a minute: each message comes back after 150 seconds."""
    for _ in range(10):
        observed.of_function("ExecuteHigh", "Errors", 1)
        observed.minutes(1)


def secrets_missing(observed: Observed) -> None:
    """No run can read its secret: attempts of all targets that need one fail."""
    trends = Trends()
    for _ in range(6):
        needing = frozenset(TARGETS[:4])
        told(observed, trends, Counts(attempts=20, failed=16, called=frozenset(TARGETS), failing=needing), starts=20)
        observed.minutes(1)


def failing_in(processes: int, *, started: int = 1, failed: int = 1, targets: int = 1, every: int = 1) -> Story:
    """In every nth minute, attempts fail in each of many processes."""

    def fail(observed: Observed) -> None:
        trends = [Trends() for _ in range(processes)]
        called = frozenset(f"target-{number}" for number in range(targets))
        for minute in range(12):
            for each in trends if minute % every == 0 else ():
                told(observed, each, Counts(started, failed, called, called if failed else frozenset()), starts=started)
            observed.minutes(1)

    return fail


def all_of_lane_long(observed: Observed) -> None:
    """All 25 attempts a minute of the lane fail, and all of another lane's 250 succeed."""
    long, normal = [Trends() for _ in range(25)], Trends()
    for _ in range(10):
        observed.lane = "long"
        for each in long:
            told(observed, each, Counts(1, 1, frozenset(TARGETS[:1]), frozenset(TARGETS[:1])), starts=1)
        observed.lane = "normal"
        told(observed, normal, Counts(250, called=frozenset(TARGETS)), starts=250)
        observed.minutes(1)


def lane_long_is_full(observed: Observed) -> None:
    """Each process of the lane starts a run every five minutes, an hour late."""
    observed.lane = "long"
    processes = [Trends() for _ in range(10)]
    for minute in range(12):
        for number, each in enumerate(processes):
            if number % 5 == minute % 5:
                told(observed, each, Counts(1, called=frozenset(TARGETS[:1])), starts=1, late=1)
        observed.minutes(1)


def reserved_concurrency_of_none(observed: Observed) -> None:
    """Lambda throttles each invocation of a worker. Its messages stay in flight until their visibility timeout."""
    for _ in range(6):
        observed.queues.set["normal"] = Depth(0, 7, 0)
        observed.of_function("ExecuteNormal", "Throttles", 3)
        observed.minutes(1, working=False)


def refused(status: int, per_minute: int) -> Story:
    """API Gateway or the API refuses all requests."""

    def refuse(observed: Observed) -> None:
        for _ in range(20):
            for _ in range(per_minute):
                observed.answered(status)
            observed.minutes(1)

    return refuse


def refused_heartbeats(observed: Observed) -> None:
    """200 of 400 heartbeats a second."""
    for _ in range(20):
        of = {"service": "duecourse", "function": "callbacks"}
        observed.put(observed.namespace, "RefusalsBeyond", of, 12_000 - 24_000 * REFUSED_CALLBACKS)
        observed.minutes(1)


def unread(name: str, *, after: int = 0) -> Story:
    """A queue with due messages and without a consumer."""

    def leave(observed: Observed) -> None:
        observed.minutes(2)
        observed.queues.set[name] = Depth(7, 0, 0)
        observed.minutes(8)

    return leave


def table_refuses(table: str, method: str) -> Story:
    """A store that rejects what workers need for every message."""

    def refuse(observed: Observed) -> None:
        observed.world.add(job("rate(20 seconds)"))
        setattr(observed.world, table, broken(getattr(observed.world, table), method))
        observed.minutes(8)

    return refuse


LANES = ("High", "Normal", "Low", "Long")

OUTAGES: dict[str, Outage] = {
    "the rule of the tick is disabled": Outage(dispatch.no_tick, "ticks-missing", "duecourse doctor"),
    "the tick crashes": Outage(services.errors_of("Tick"), "ticks-missing", "crashes TickFunction"),
    "the tick is throttled": Outage(services.throttles_of("Tick"), "ticks-missing", "duecourse doctor"),
    "the key is disabled": Outage(key_disabled, "ticks-missing", "duecourse doctor"),
    "the shard queue refuses": Outage(shard_queue_refuses, "ticks-missing", "actions TickFunction"),
    "dispatch crashes": Outage(services.errors_of("Dispatch"), "jobs-not-firing", "crashes DispatchFunction"),
    "dispatch is throttled": Outage(services.throttles_of("Dispatch"), "jobs-not-firing", "duecourse doctor"),
    "dispatch times out": Outage(dispatch.rounds_that_run_out_of_time, "jobs-not-firing", "counted DispatchFunction"),
    "the shard queue has no consumer": Outage(dispatch.ticks_that_nobody_takes, "jobs-not-firing", "duecourse doctor"),
    "the jobs table throttles claims": Outage(dispatch.claims_that_fail, "jobs-not-firing", "round_stopped"),
    "the jobs table rejects claims": Outage(dispatch.claims_that_are_refused, "jobs-not-firing", "claims_refused"),
    "the runs table cannot be read by dispatch": Outage(
        dispatch.records_of_runs_that_cannot_be_read, "jobs-not-firing", "claim_deferred"
    ),
    "a lane accepts no messages": Outage(dispatch.lanes_that_refuse, "jobs-not-firing", "send_refused"),
    "a hot shard": Outage(hot_shard, "jobs-not-firing", "counted DispatchFunction"),
    "entries of hours ago are not claimed": Outage(
        dispatch.entries_that_cannot_be_claimed_for_hours, "jobs-not-firing", "counted DispatchFunction"
    ),
    **{
        f"the queue of {lane.lower()} has no consumer": Outage(
            unread(lane.lower()), "lanes-not-draining", "queues_unread", 600
        )
        for lane in LANES
    },
    "a bulk queue has no consumer": Outage(unread("normal bulk"), "lanes-not-draining", "queues_unread", 600),
    "the role of a worker is deleted": Outage(unread("low bulk"), "lanes-not-draining", "duecourse doctor", 600),
    **{
        f"every worker of {lane.lower()} crashes": Outage(
            services.errors_of(f"Execute{lane}"), "workers-failing", "crashes"
        )
        for lane in LANES
    },
    "workers crash at one run a minute": Outage(rare_crashes, "workers-failing", "crashes"),
    "a bad release, half rolled out": Outage(bad_release, "workers-failing", "crashes"),
    "workers cannot read jobs": Outage(table_refuses("jobs", "snapshot"), "workers-failing", "message_failed"),
    "workers cannot write runs": Outage(table_refuses("run_store", "write"), "workers-failing", "message_failed"),
    "the quota of concurrency is reached": Outage(
        services.throttles_of("ExecuteNormal"), "workers-throttled", "duecourse doctor"
    ),
    "a worker's reserved concurrency is 0": Outage(
        reserved_concurrency_of_none, "workers-throttled", "get-function-concurrency"
    ),
    "lane long is full, and every run is late": Outage(lane_long_is_full, "runs-late", "by tenant"),
    "every call hangs for a minute": Outage(failing_in(100, targets=40), "targets-failing", "by tenant, job_id, error"),
    "20 runs a minute fail in 20 processes": Outage(failing_in(20), "targets-failing", "by tenant, job_id, error"),
    "all attempts of lane long fail": Outage(all_of_lane_long, "targets-failing", "by tenant, job_id, error"),
    "the only backend is down": Outage(failing_in(4, started=5, failed=5), "targets-failing", "targets_fail"),
    "one of two backends is down": Outage(
        failing_in(10, started=10, failed=5, targets=2), "targets-failing", "targets_fail"
    ),
    "all runs of each fifth minute fail": Outage(
        failing_in(3, started=10, failed=10, every=5), "targets-failing", "by tenant, job_id, error"
    ),
    "a clock is ten minutes slow": Outage(clock_behind, "runs-late", "duecourse doctor"),
    "one tenant floods a lane": Outage(tenant_flood, "runs-late", "by tenant"),
    "all targets are down": Outage(all_targets_down, "targets-failing", "by tenant, job_id, error"),
    "the secrets are missing": Outage(secrets_missing, "targets-failing", "by tenant, job_id, error"),
    "messages became dead letters before they ran": Outage(
        maintenance.lost_to_the_dead_letters, "runs-lost-or-duplicated", "run_settled"
    ),
    "an occurrence was lost": Outage(maintenance.a_record_that_was_lost, "runs-lost-or-duplicated", "occurrence_lost"),
    "a run is stuck past its lease": Outage(maintenance.a_run_that_is_stuck, "runs-lost-or-duplicated", "run_stuck"),
    "the API crashes": Outage(services.errors_of("Api"), "api-failing", "request_failed"),
    "the API is throttled": Outage(services.throttles_of("Api"), "api-failing", "duecourse doctor"),
    "callbacks crash": Outage(services.errors_of("Callbacks"), "api-failing", "request_failed"),
    "the user pool issues no tokens": Outage(services.errors_of("Claims"), "api-failing", "crashes"),
    "the API's stores refuse": Outage(api.requests_that_fail, "api-failing", "request_failed"),
}

TICKETS: dict[str, tuple[Story, str]] = {
    "the archive is stuck": (maintenance.a_stream_that_nobody_reads, "maintenance-failing"),
    "the archive gave up": (services.letters_in("archive"), "maintenance-failing"),
    "the audit does not start": (services.throttles_of("Audit"), "maintenance-failing"),
    "the reconciler crashes": (services.errors_of("Reconcile"), "maintenance-failing"),
    "index repair fails": (maintenance.a_pass_that_fails, "maintenance-failing"),
    "the account has fewer executions than the setting": (
        maintenance.an_account_with_fewer_executions,
        "maintenance-failing",
    ),
    "the event bus refuses": (runs.a_bus_that_refuses, "maintenance-failing"),
    "the issuer's keys are gone": (refused(401, 60), "api-refusing"),
    "the gateway throttles every request": (refused(429, 60), "api-refusing"),
    "half of the heartbeats are refused": (refused_heartbeats, "callbacks-refused"),
}
"""What a person looks at in the morning: nothing is late, and no run is lost."""


def batches(observed: Observed, count: int, messages: int = 10) -> None:
    """Workers finish so many batches."""
    of = {"service": "duecourse", "function": "execute"}
    observed.put(observed.namespace, "MessagesReceived", of, *[float(messages)] * count)


def failed(observed: Observed, symptom: str, count: int = 1) -> None:
    """A function counts failures of a symptom."""
    observed.put(observed.namespace, "Failures", {"service": "duecourse", "symptom": symptom}, float(count))


def an_hour(each: Callable[[Observed, int], None]) -> Story:
    """Something happens in each minute of an hour, of which it is told the number."""

    def pass_by(observed: Observed) -> None:
        for minute in range(60):
            each(observed, minute)
            observed.minutes(1)

    return pass_by


def requests(observed: Observed, count: float, errors: float) -> None:
    of = {"ApiId": observed.outputs["ApiId"]["Value"]}
    observed.put("AWS/ApiGateway", "Count", of, count)
    observed.put("AWS/ApiGateway", "5xx", of, errors)


CHANCE = random.Random(31)


def by_chance(mean: float) -> int:
    """How many of many rare events happen (Poisson)."""
    left, events = CHANCE.expovariate(1), 0
    while left < mean:
        left, events = left + CHANCE.expovariate(1), events + 1
    return events


def hundred_requests_a_second(observed: Observed, _: int) -> None:
    requests(observed, 6_000, by_chance(0.6))


def five_thousand_runs_a_second(observed: Observed, _: int) -> None:
    """One fault in a million runs: a message that is handled again. A hundredth of the batches is counted."""
    batches(observed, 300)
    if faults := by_chance(0.3):
        failed(observed, "workers", faults)


def a_crash_in_a_million(observed: Observed, _: int) -> None:
    batches(observed, 300)
    if faults := by_chance(0.3):
        observed.of_function("ExecuteNormal", "Errors", faults)


def a_full_seat_queue(observed: Observed, minute: int) -> None:
    """300 messages a second come due at the full second and are received at once."""
    observed.queues.set["normal"] = Depth(300, 40 if minute % 3 else 1, 5_000)
    batches(observed, 100)


def a_queue_seen_before_its_pollers(observed: Observed, _: int) -> None:
    """At the first look messages have just become visible; seconds later they are in flight."""
    observed.queues.answers = {"low": [Depth(9, 0, 0), Depth(0, 9, 0)]}


def a_404_every_twenty_seconds(observed: Observed) -> None:
    """The only job of the stage."""
    observed.world.caller.answer = failing
    observed.world.add(job("rate(20 seconds)"))
    observed.minutes(30)


def a_dead_letter(observed: Observed) -> None:
    """It stays for days."""
    runs.a_dead_run(observed)
    observed.minutes(40)


def abandoned_jobs(observed: Observed) -> None:
    """Three jobs with dead targets among forty."""
    trends = Trends()
    every = frozenset(f"target-{number}" for number in range(40))
    for _ in range(60):
        batch = Counts(attempts=43, failed=3, called=every, failing=frozenset(TARGETS[:3]))
        told(observed, trends, batch, starts=40)
        observed.minutes(1)


def abandoned_targets(observed: Observed) -> None:
    """Three of fifteen targets are abandoned: 7.5% of the attempts fail."""
    trends = Trends()
    every = frozenset(f"target-{number}" for number in range(15))
    for _ in range(60):
        told(observed, trends, Counts(40, 3, every, frozenset(sorted(every)[:3])), starts=40)
        observed.minutes(1)


def a_few_refusals(observed: Observed, _: int) -> None:
    """A client without a token, among others."""
    for number in range(100):
        observed.answered(401 if number % 4 == 0 else 200)


def thousand_tenants(observed: Observed) -> None:
    """Of each hundred attempts four fail, spread over all targets."""
    trends = Trends()
    for _ in range(60):
        every = frozenset(f"tenant-{CHANCE.randrange(1_000)}" for _ in range(300))
        bad = frozenset(sorted(every)[:12])
        told(observed, trends, Counts(attempts=300, failed=12, called=every, failing=bad), starts=90)
        observed.minutes(1)


def a_burst(observed: Observed) -> None:
    """Ninety runs at once in each quarter of an hour, of which three start late."""
    trends = Trends()
    for minute in range(60):
        burst = minute % 15 == 0
        told(observed, trends, Counts(90, called=frozenset(TARGETS)), starts=90, late=3 if burst else 0)
        observed.minutes(1)


def a_worker_killed_once(observed: Observed) -> None:
    """Its ten runs start again 150 seconds later, late."""
    trends = Trends()
    for minute in range(60):
        if minute == 20:
            observed.of_function("ExecuteNormal", "Errors", 1)
        late = 10 if minute == 23 else 0
        told(observed, trends, Counts(attempts=10, called=frozenset(TARGETS)), starts=10, late=late)
        batches(observed, 1)
        observed.minutes(1)


def long_runs(observed: Observed, _: int) -> None:
    """Fourteen minutes each: in flight, and no batch ends."""
    observed.queues.set["long"] = Depth(0, 30, 12)


def tomorrows_runs(observed: Observed, _: int) -> None:
    for name in ("high", "normal", "low", "long"):
        observed.queues.set[name] = Depth(0, 0, 10_000)


def now_and_then(minutes: range, what: Callable[[Observed], None]) -> Story:
    return an_hour(lambda observed, minute: what(observed) if minute in minutes else None)


def working_jobs(observed: Observed) -> None:
    observed.world.caller.answer = lambda _: Returned()
    fill(observed, 5, "rate(60 seconds)")
    observed.minutes(60)


HEALTHY: dict[str, Story] = {
    "nothing to do": lambda observed: observed.minutes(60),
    "five jobs a minute": working_jobs,
    "100 API requests a second at 99.99%": an_hour(hundred_requests_a_second),
    "2,000 API requests a second at 99.99%": an_hour(lambda observed, _: requests(observed, 120_000, by_chance(12))),
    "one API request a minute, of which every tenth fails": an_hour(
        lambda observed, minute: requests(observed, 1, float(minute % 10 == 0))
    ),
    "many runs with a fault in a million": an_hour(five_thousand_runs_a_second),
    "many runs with a crash in a million": an_hour(a_crash_in_a_million),
    "300 messages a second in a seat queue": an_hour(a_full_seat_queue),
    "messages that came due this second": an_hour(a_queue_seen_before_its_pollers),
    "one tenant's single job against a 404": a_404_every_twenty_seconds,
    "one dead letter": a_dead_letter,
    "three abandoned jobs among forty": abandoned_jobs,
    "a thousand tenants of whose attempts 4% fail": thousand_tenants,
    "a burst in each quarter of an hour": a_burst,
    "a worker killed once": a_worker_killed_once,
    "runs of fourteen minutes": an_hour(long_runs),
    "queues full of tomorrow's runs": an_hour(tomorrows_runs),
    "two ticks a minute": clock_doubled,
    "a tick that fails now and then": now_and_then(
        range(5, 60, 10), lambda observed: observed.of_function("Tick", "Errors", 1)
    ),
    "a round that waits for a minute": now_and_then(range(5, 60, 10), lambda observed: failed(observed, "dispatch")),
    "a throttled worker now and then": now_and_then(
        range(5, 60, 10), lambda observed: observed.of_function("ExecuteNormal", "Throttles", 5)
    ),
    "three abandoned targets among fifteen": abandoned_targets,
    "a quarter of the requests has no token": an_hour(a_few_refusals),
    "the reconciler fails twice": now_and_then(range(5, 7), lambda observed: failed(observed, "maintenance")),
    "a job that was paused after deaths": runs.deaths_in_a_row,
}


def outage_table() -> str:
    """The table of docs/observability.md: the outages of each alarm, and the busy hours that set off none."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, outage in OUTAGES.items():
        rows.setdefault((outage.alarm, "page"), []).append(name)
    for name, (_, alarm) in TICKETS.items():
        rows.setdefault((alarm, "ticket"), []).append(name)
    lines = ["| alarm | severity | outages |", "|---|---|---|"]
    for (alarm, severity), names in rows.items():
        lines.append(f"| [{alarm}](runbooks.md#{alarm}) | {severity} | {'; '.join(names)} |")
    return "\n".join([*lines, f"| none | | {'; '.join(HEALTHY)} |"])

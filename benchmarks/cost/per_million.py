"""A million firings: what each scheduler costs from the moment a job is due to the end of its call. Pure.

The same call for all of them: an HTTP request that its target answers after `call_seconds`. What a scheduler cannot do
itself is done by the smallest function that can. What they give for it differs: only Duecourse keeps a record of each
run (its storage is an item of its own here), and only it fires more often than once a minute.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.cost.counts import CASES, ONE_OFF_WRU, Counts, Firing, Run
from benchmarks.cost.model import GB, Assumptions, cpu_seconds, lambda_usd, logs_usd, totalled, traced
from benchmarks.cost.prices import usd

MILLION = 1e6

FIRINGS_OF_MONTH: Mapping[str, int] = {"daily": 31, "hourly": 744, "minutely": 44_640}
"""In 31 days, after which Google charges a job."""

TRANSITIONS_OF_A_CALL = 3
TRANSITIONS_OF_A_WAIT_AND_CALL = 4
TRANSITIONS_OF_A_LOOP = 2
"""State transitions of Step Functions: into the first state, into each further one, to the end. An execution that waits
and calls for ever pays only for the two (its history of 25,000 events ends it after some 4,000 firings: AWS Step
Functions Developer Guide, "Quotas for state machine executions"; the restarts are not counted)."""

SECONDS_OF_A_ROUND = 60
"""What a round finds is due within a minute, that of the next round in the next."""

EXPRESS_GB = 0.0625
"""Memory of a small Express execution: one chunk of 64 MB."""


def duecourse(firing: Firing, run: Run, assume: Assumptions) -> dict[str, float]:
    """USD for a million firings and their runs. A round that finds a single firing sends and claims for it alone, and
    sleeps for it alone; that it is an invocation is counted here, though the idle month has it as well.
    """
    batches = MILLION / assume.batch
    work = assume.batch * cpu_seconds(run.cpu_ms_per_run, assume.execute_mb)
    invocation = assume.call_seconds + work + assume.waits_of_a_run * assume.request_seconds
    alone = 1 / assume.round_firings
    sends = max(firing.sqs_requests_per_1000 / 1000, alone)
    waits = max(firing.requests_per_1000 / 1000, 2 * alone) * assume.request_seconds
    dispatching = cpu_seconds(firing.cpu_ms_per_firing, assume.dispatch_mb) + waits
    rounds = MILLION / assume.round_firings
    round_seconds = dispatching * assume.round_firings + assume.alignment_seconds
    traces = rounds * traced(assume.round_firings / assume.batch, SECONDS_OF_A_ROUND) if assume.tracing else 0.0
    stored = MILLION * assume.record_bytes / GB * assume.record_months
    return totalled(
        {
            "dispatch_writes": usd("wru", MILLION * firing.claim_wru_per_firing),
            "dispatch_reads": usd("rru", MILLION * firing.rru_per_firing),
            "dispatch_sends": usd("sqs_standard", MILLION * sends),
            "dispatch_lambda": lambda_usd(rounds, round_seconds, assume.dispatch_mb),
            "execute_writes": usd("wru", MILLION * run.wru_per_run),
            "execute_reads": usd("rru", MILLION * run.rru_per_run),
            "execute_queue": usd("sqs_standard", MILLION * run.sqs_requests(assume.batch)),
            "execute_lambda": lambda_usd(batches, invocation, assume.execute_mb),
            "logs": logs_usd(MILLION, assume.run_log_bytes) + logs_usd(batches, assume.lambda_log_bytes),
            "traces": usd("trace", traces),
            "records_kept": usd("table_storage", stored) + usd("table_backup", stored),
        }
    )


def one_off(wru: int, firing: Firing, run: Run, assume: Assumptions) -> dict[str, float]:
    """USD for a million one-offs, each with its own request and its own firing, from the request to the clean-up."""
    fired = duecourse(firing, run, assume)
    writes = ("dispatch_writes", "execute_writes")
    waits = assume.waits_of_a_request * assume.request_seconds
    return totalled(
        {
            "requests": usd("http_api", MILLION)
            + lambda_usd(MILLION, cpu_seconds(assume.api_cpu_ms, assume.api_mb) + waits, assume.api_mb),
            "request_logs": logs_usd(MILLION, assume.lambda_log_bytes + assume.access_log_bytes),
            "writes": usd("wru", MILLION * wru),
            **{name: value for name, value in fired.items() if name not in (*writes, "total")},
        }
    )


def eventbridge_scheduler(assume: Assumptions) -> dict[str, float]:
    """A schedule for each job, which starts a function that makes the call: Scheduler itself calls AWS APIs only."""
    return totalled(
        {
            "scheduler": usd("scheduler", MILLION),
            "lambda": lambda_usd(MILLION, assume.call_seconds, assume.caller_mb),
            "logs": logs_usd(MILLION, assume.lambda_log_bytes),
        }
    )


def eventbridge_scheduler_sqs(assume: Assumptions) -> dict[str, float]:
    """The same through a queue, as it is done to keep a burst from throttling the function: sent one by one, received
    and deleted in batches.
    """
    batches = MILLION / assume.batch
    return totalled(
        {
            "scheduler": usd("scheduler", MILLION),
            "queue": usd("sqs_standard", MILLION + 2 * batches),
            "lambda": lambda_usd(batches, assume.call_seconds, assume.caller_mb),
            "logs": logs_usd(batches, assume.lambda_log_bytes),
        }
    )


def step_functions(assume: Assumptions) -> dict[str, dict[str, float]]:
    """Standard (started by a schedule, by a wait of its own, or one execution in a loop), and Express by a schedule."""
    scheduled = usd("scheduler", MILLION)
    express = MILLION * EXPRESS_GB * -(-assume.call_seconds * 10 // 1) / 10  # by the tenth of a second begun
    return {
        "step_functions": totalled(
            {"scheduler": scheduled, "transitions": usd("transition", MILLION * TRANSITIONS_OF_A_CALL)}
        ),
        "step_functions_wait": totalled({"transitions": usd("transition", MILLION * TRANSITIONS_OF_A_WAIT_AND_CALL)}),
        "step_functions_loop": totalled({"transitions": usd("transition", MILLION * TRANSITIONS_OF_A_LOOP)}),
        "step_functions_express": totalled(
            {
                "scheduler": scheduled,
                "executions": usd("express_request", MILLION),
                "duration": usd("express_gb_second", express),
            }
        ),
    }


def google(firings_of_month: int) -> dict[str, float]:
    """Jobs that fire so often in 31 days: charged by the job. It makes the call itself, no more often than a minute."""
    return totalled({"jobs": usd("google_job", MILLION / firings_of_month)})


def everything(counts: Counts, assume: Assumptions) -> dict[str, dict[str, float]]:
    """Each scheduler's items for a million firings, in USD; ours with the default policy first."""
    ours = {f"duecourse_{case}": duecourse(counts.firings[case], counts.run, assume) for case in CASES}
    locked = {
        f"duecourse_{case}_overlap_skip": duecourse(counts.firings[case], counts.locked, assume) for case in CASES
    }
    once = {
        f"duecourse_{name}": one_off(wru, counts.firings["distinct"], counts.run, assume)
        for name, wru in ONE_OFF_WRU.items()
    }
    others = {f"google_cloud_scheduler_{often}": google(times) for often, times in FIRINGS_OF_MONTH.items()}
    return {
        **locked,
        **ours,
        **once,
        "eventbridge_scheduler": eventbridge_scheduler(assume),
        "eventbridge_scheduler_sqs": eventbridge_scheduler_sqs(assume),
        **step_functions(assume),
        "google_cloud_scheduler": google(FIRINGS_OF_MONTH["minutely"]),
        **{name: items for name, items in others.items() if not name.endswith("minutely")},
    }


def break_even(idle_total: float, totals: Mapping[str, float]) -> dict[str, float | None]:
    """From where on Duecourse costs less than Google's price of a job: with how many daily jobs (they pay for its idle
    month), up to how many firings of a job in a month (the idle month apart). None: never.
    """
    job = usd("google_job", 1)
    daily = job - FIRINGS_OF_MONTH["daily"] * totals["duecourse_distinct"] / MILLION
    return {
        "daily_jobs_from": round(idle_total / daily) if daily > 0 else None,
        "firings_a_job_and_month_up_to": round(job / totals["duecourse_minutely"] * MILLION),
    }

"""The cost of a million firings with each scheduler, from the due time of a job to the end of its call. Pure.

All make the same call: an HTTP request to which its target responds after `call_seconds`. If a scheduler cannot make
the call itself, the smallest function that can does so. The schedulers are not equivalent: only Duecourse keeps a
record of each run (its storage is a separate item here), and only Duecourse fires more often than once a minute.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.cost.counts import CASES, ONE_OFF_WRU, Counts, Firing, Run
from benchmarks.cost.model import GB, Assumptions, cpu_seconds, lambda_usd, logs_usd, totalled, traced
from benchmarks.cost.prices import usd

MILLION = 1e6

FIRINGS_OF_MONTH: Mapping[str, int] = {"daily": 31, "hourly": 744, "minutely": 44_640}
"""The firings of a job in 31 days. Google charges a job for this period."""

TRANSITIONS_OF_A_CALL = 3
TRANSITIONS_OF_A_WAIT_AND_CALL = 4
TRANSITIONS_OF_A_LOOP = 2
"""State transitions of Step Functions: into the first state, into each further one, to the end. An execution that waits
and calls in a loop pays only for the two. (Its history of 25,000 events ends it after about 4,000 firings: AWS Step
Functions Developer Guide, "Quotas for state machine executions". The restarts are not counted.)
"""

SECONDS_OF_A_ROUND = 60
"""The firings of a round are due within a minute, and those of the next round in the next minute."""

EXPRESS_GB = 0.0625
"""The memory of a small Express execution: one chunk of 64 MB."""


OVERLAP_SKIP = "_overlap_skip"
"""The end of the names of figures with the default policy."""

COUNTS_OF_AN_INVOCATION = 1
"""The writes of a tenant's counts by an invocation of a worker, at most: one tenant, and the first batch of its process
in that minute. Processes with more batches in a minute write less.
"""


MESSAGES_OF_A_FIRING = 1
"""The messages of a firing (usecases/dispatch/claim.py), each of which has its tenant as its message group
(adapters/sqs/lanes.py).
"""


def duecourse(firing: Firing, run: Run, assume: Assumptions, caretaking: float) -> dict[str, float]:
    """Return the cost of a million firings and their runs, in USD. A round with a single firing sends, claims and
    sleeps for it alone. Its invocation is counted here, although the idle month includes it as well. `caretaking`: the
    read units of the audit and of index repair for a firing.
    """
    batches = MILLION / assume.batch
    work = assume.batch * cpu_seconds(run.cpu_ms_per_run, assume.execute_mb)
    invocation = assume.held_seconds + assume.call_seconds + work + assume.waits_of_a_run * assume.request_seconds
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
            "list_writes": usd("wru", MILLION * run.list_wru_per_run),
            "count_writes": usd("wru", batches * COUNTS_OF_AN_INVOCATION),
            "execute_reads": usd("rru", MILLION * run.rru_per_run),
            "execute_queue": usd("sqs_standard", MILLION * run.sqs_requests(assume.batch)),
            "execute_lambda": lambda_usd(batches, invocation, assume.execute_mb),
            "fair_queues": usd("sqs_fair", MILLION * MESSAGES_OF_A_FIRING),
            "audit_and_repair": usd("rru", MILLION * caretaking),
            "logs": logs_usd(MILLION, assume.run_log_bytes) + logs_usd(batches, assume.lambda_log_bytes),
            "traces": usd("trace", traces),
            "records_kept": usd("table_storage", stored) + usd("table_backup", stored),
        }
    )


def one_off(wru: int, firing: Firing, run: Run, assume: Assumptions, caretaking: float) -> dict[str, float]:
    """Return the cost of a million one-offs in USD, each with a separate request and firing, from the request to the
    clean-up.
    """
    fired = duecourse(firing, run, assume, caretaking)
    writes = ("dispatch_writes", "execute_writes", "list_writes")
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
    """Return the cost with one schedule for each job, which starts a function that makes the call: Scheduler itself
    only calls AWS APIs.
    """
    return totalled(
        {
            "scheduler": usd("scheduler", MILLION),
            "lambda": lambda_usd(MILLION, assume.call_seconds, assume.caller_mb),
            "logs": logs_usd(MILLION, assume.lambda_log_bytes),
        }
    )


def eventbridge_scheduler_sqs(assume: Assumptions) -> dict[str, float]:
    """Return the cost of the same through a queue, which prevents a burst from throttling the function: messages are
    sent one by one, and received and deleted in batches.
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
    """Return the costs of Standard (started by a schedule, by its own wait, or one execution in a loop), and of Express
    started by a schedule.
    """
    scheduled = usd("scheduler", MILLION)
    express = MILLION * EXPRESS_GB * -(-assume.call_seconds * 10 // 1) / 10  # billed per started tenth of a second
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
    """Return the cost of jobs with this number of firings in 31 days, which are charged per job. Google makes the call
    itself, at most once a minute.
    """
    return totalled({"jobs": usd("google_job", MILLION / firings_of_month)})


def everything(counts: Counts, assume: Assumptions) -> dict[str, dict[str, float]]:
    """Return each scheduler's items for a million firings in USD, first Duecourse with the default policy."""
    ours, locked = (
        {
            f"duecourse_{case}{suffix}": duecourse(counts.firings[case], run, assume, counts.caretaking[case])
            for case in CASES
        }
        for suffix, run in (("", counts.run), (OVERLAP_SKIP, counts.locked))
    )
    once = {
        f"duecourse_{name}": one_off(
            wru,
            counts.firings["distinct"],
            counts.locked if name.endswith(OVERLAP_SKIP) else counts.run,  # a one-off job needs no lock
            assume,
            counts.caretaking["distinct"],
        )
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
    """Return when Duecourse costs less than Google's price of a job: from how many daily jobs on (they pay for the idle
    month), and up to how many firings of a job in a month (without the idle month). None: never.
    """
    job = usd("google_job", 1)
    daily = job - FIRINGS_OF_MONTH["daily"] * totals["duecourse_distinct"] / MILLION
    return {
        "daily_jobs_from": round(idle_total / daily) if daily > 0 else None,
        "firings_a_job_and_month_up_to": round(job / totals["duecourse_minutely"] * MILLION),
    }

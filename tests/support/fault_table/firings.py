"""Stories of a firing: it goes well, is tried again, waits in the wait queue, is replaced, is caught up."""

from collections.abc import Callable

from duecourse.domain.jobs.job import (
    Backoff,
    Breaker,
    Concurrency,
    Delivery,
    EventKind,
    MissedMode,
    MissedPolicy,
    Overlap,
    RetryPolicy,
)
from duecourse.domain.targets.targets import Failed
from tests.support.fault_table.stage import Stage
from tests.support.fault_table.story import NOT_RUN, RAN, Fate, Story

PATIENT = RetryPolicy(max_attempts=5, backoff=Backoff.FIXED, min_seconds=5, max_seconds=1800)
LATE = MissedPolicy(grace_seconds=3600)
NO = Failed("HTTP 500: no", code="http.500")


def _busy(seconds: int) -> Failed:
    return Failed("HTTP 503: later", code="http.503", retry_after=seconds)


def _fires(stage: Stage) -> None:
    stage.put("2,7 12 * * *", max_runs=2, events=(EventKind.ALL,))
    stage.at(430)


def _fires_at_most_once(stage: Stage) -> None:
    stage.put("4 12 * * *", max_runs=1, delivery=Delivery.AT_MOST_ONCE)
    stage.at(310)


def _retries(stage: Stage) -> None:
    stage.target.answers[240] = [NO, _busy(1200)]
    stage.put("4 12 * * *", max_runs=1, retry=PATIENT, events=(EventKind.FAILURES,))
    stage.at(1510)


def _waits_in_queue(stage: Stage) -> None:
    stage.target.answers[180] = [_busy(240)]
    stage.put("3,6 12 * * *", max_runs=2, missed=LATE, retry=PATIENT, overlap=Overlap.QUEUE)
    stage.at(490)


def _waits_for_a_key(stage: Stage) -> None:
    limits = stage.office.api.key_limits
    stage.ask(lambda: limits.put("default", "crm", 0, by="anna"))
    concurrency = Concurrency("crm", 2)
    stage.put("3,4 12 * * *", max_runs=2, missed=LATE, overlap=Overlap.ALLOW, concurrency=concurrency)
    stage.at(480)
    stage.ask(lambda: limits.put("default", "crm", 1, by="anna"))
    stage.at(520)


def _waits_for_a_breaker(stage: Stage) -> None:
    stage.target.answers[180] = [NO, NO]
    breaker = Breaker("crm", 1, 60)
    stage.put("3,4 12 * * *", max_runs=2, missed=LATE, retry=PATIENT, overlap=Overlap.ALLOW, breaker=breaker)
    stage.at(810)


def _replaced(stage: Stage) -> None:
    stage.target.answers[180] = [_busy(600)] * 2
    stage.put("3,6 12 * * *", max_runs=2, missed=LATE, retry=PATIENT, overlap=Overlap.REPLACE)
    stage.at(810)


def _caught_up(mode: MissedMode) -> Callable[[Stage], None]:
    def play(stage: Stage) -> None:
        missed = MissedPolicy(mode, grace_seconds=230, max_missed=2)
        stage.put("3-27/4 12 * * *", max_runs=7, missed=missed, overlap=Overlap.ALLOW)
        stage.at(1190, ticking=False)
        stage.at(1630)

    return play


STORIES = (
    Story("fires", "A job runs at 12:02 and 12:07, then its schedule ends.", _fires, {120: RAN, 420: RAN}),
    Story(
        "fires at most once",
        "A job with `delivery: at_most_once` runs at 12:04.",
        _fires_at_most_once,
        {240: RAN},
        at_most_once=True,
    ),
    Story(
        "retries",
        "The run of 12:04 fails twice within five seconds and succeeds twenty minutes later.",
        _retries,
        {240: Fate(("SUCCEEDED",), 3)},
    ),
    Story(
        "waits in the queue",
        "With `overlap: queue`, the run of 12:03 fails and is retried after four minutes. The run of 12:06 waits for "
        "it.",
        _waits_in_queue,
        {180: Fate(("SUCCEEDED",), 2), 360: RAN},
    ),
    Story(
        "waits for a key",
        "The limit of the key is 0: the runs of 12:03 and 12:04 wait. At 12:08 it becomes 1.",
        _waits_for_a_key,
        {180: RAN, 240: RAN},
    ),
    Story(
        "waits for a breaker",
        "The run of 12:03 fails twice, and each failure opens the circuit breaker. The run of 12:04 may wait for it.",
        _waits_for_a_breaker,
        {180: Fate(("SUCCEEDED",), 3), 240: RAN},
        side_by_side=True,
    ),
    Story(
        "replaced",
        "With `overlap: replace`, the run of 12:03 fails and would be retried after ten minutes. The run of 12:06 "
        "replaces it.",
        _replaced,
        {180: Fate(("CANCELLED",), 1), 360: RAN},
    ),
    Story(
        "caught up: skip",
        "A job is due at 12:03, 12:07 … 12:27, and the first tick comes at 12:20. Missed occurrences are skipped; "
        "12:19 is within the grace period.",
        _caught_up(MissedMode.SKIP),
        {180: NOT_RUN, 420: NOT_RUN, 660: NOT_RUN, 900: NOT_RUN, 1140: RAN, 1380: RAN, 1620: RAN},
        side_by_side=True,
    ),
    Story(
        "caught up: run_once",
        "The same job, but one run covers all missed occurrences.",
        _caught_up(MissedMode.RUN_ONCE),
        dict.fromkeys(range(180, 1621, 240), RAN),
        side_by_side=True,
    ),
    Story(
        "caught up: run_all",
        "The same job, but the two oldest missed occurrences run, and the others are skipped.",
        _caught_up(MissedMode.RUN_ALL),
        {180: RAN, 420: RAN, 660: NOT_RUN, 900: NOT_RUN, 1140: RAN, 1380: RAN, 1620: RAN},
        side_by_side=True,
    ),
)

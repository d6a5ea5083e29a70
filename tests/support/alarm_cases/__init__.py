"""For each alarm, the failure that it is there for: happened as far as it can in one process, and reported."""

from __future__ import annotations

from tests.support.alarm_cases import api, care, dispatch, runs, services
from tests.support.alarm_cases.parts import Case

__all__ = ["CASES", "Case"]

LANES = ("High", "Normal", "Low", "Long")
FUNCTIONS = (
    *("Tick", "Dispatch", *(f"Execute{lane}" for lane in LANES), "Sweep"),
    *("Archive", "Patrol", "Audit", "Api", "Claims"),
)
STORES = (
    ("Jobs", "JobsTable", None),
    ("Due", "JobsTable", "due"),
    ("Tenant", "JobsTable", "tenant"),
    ("Runs", "RunsTable", None),
    ("Dead", "RunsTable", "dead"),
)

CASES: dict[str, Case] = {
    "NoTick": dispatch.no_tick,
    "ShardQueueOld": dispatch.ticks_that_nobody_takes,
    "WatermarkBehind": dispatch.entries_that_cannot_be_claimed_for_hours,
    "DispatchRoundsFailed": dispatch.rounds_that_fail,
    "RoundsUnfinished": dispatch.rounds_that_run_out_of_time,
    "CatchUpStorm": dispatch.a_long_outage,
    "SendsRefused": dispatch.lanes_that_refuse,
    "ClaimsFailed": dispatch.claims_that_fail,
    "ClaimsRefused": dispatch.claims_that_are_refused,
    "StatementsThrottled": dispatch.throttling_that_stays,
    "CursorsSetAside": dispatch.a_cursor_that_makes_no_sense,
    "ClaimsDeferred": dispatch.records_of_runs_that_cannot_be_read,
    "DispatchEventsRefused": dispatch.a_bus_that_refuses_skips,
    "DeadLettersWaiting": runs.a_dead_run,
    "RunsDying": runs.many_dead_runs,
    "FailureRate": runs.an_ill_target,
    **{f"Lateness{lane}": runs.late_starts for lane in LANES},
    **{f"OldestMessage{lane}{of}": runs.nobody_at_work for lane in LANES for of in ("", "Bulk")},
    **{
        f"WorkersIdle{lane}{of}": runs.workers_that_take_nothing
        for lane in LANES
        if lane != "Long"
        for of in ("", "Bulk")
    },
    "MessagesFailed": runs.workers_that_fail,
    "RescueReadsFailed": runs.a_table_of_runs_that_does_not_answer,
    "EventsRefused": runs.a_bus_that_refuses,
    "ResultsLost": runs.a_store_of_results_that_refuses,
    "JobsPaused": runs.deaths_in_a_row,
    "PausesFailed": runs.deaths_that_cannot_be_counted,
    "DeadLettersRecorded": care.lost_to_the_dead_letters,
    "DeadLettersUnreadable": care.unreadable,
    "SweepsFailed": care.a_reconciler_that_fails,
    "SweepJobsPaused": care.a_death_that_the_reconciler_records,
    "SweepPausesFailed": care.a_death_that_the_reconciler_cannot_count,
    "SweepEventsRefused": care.a_death_that_nobody_is_told,
    **{f"{function}Silent": care.nobody_is_started for function in ("Sweep", "Patrol", "Audit")},
    "PatrolsFailed": care.a_pass_that_fails,
    "CleanUpsFailed": care.a_clean_up_that_fails,
    "EntriesBelowWatermark": care.an_entry_below_the_watermark,
    "CursorsOutsideIndex": care.a_cursor_that_fell_out_of_the_index,
    "CursorsSetAsideFound": care.a_cursor_that_nobody_has_corrected,
    "OccurrencesLost": care.a_record_that_was_lost,
    "OccurrencesDoubled": care.a_catch_up_over_what_ran,
    "AuditsFailed": care.an_audit_that_fails,
    "AuditsWaiting": care.an_audit_with_too_much_open,
    "ArchivesFailed": care.an_archive_that_refuses,
    "ArchiveSilent": care.a_stream_that_nobody_reads,
    "ArchiveBehind": care.an_archive_that_does_not_keep_up,
    "InternalErrors": api.requests_that_fail,
    "ApiSendsRefused": api.lanes_that_take_nothing,
    "ArchiveLettersWaiting": services.letters_in("ArchiveFailuresQueueUrl"),
    "EventsLettersWaiting": services.letters_in("EventFailuresQueueUrl"),
    **{f"{function}Errors": services.errors_of(function) for function in FUNCTIONS},
    **{f"{function}Throttles": services.throttles_of(function) for function in FUNCTIONS},
    **{
        f"{name}{kind}Throttles": services.throttles_of_table(output, f"{kind}ThrottleEvents", index)
        for name, output, index in STORES
        for kind in ("Read", "Write")
    },
    "JobsWriteThrottles": services.throttled_claims(None),
    "DueWriteThrottles": services.throttled_claims("due"),
    "JobsAreNotFiring": dispatch.no_tick,
}

"""Failures, each happened as far as it can in one process and reported, with the alarm that tells of it."""

from __future__ import annotations

from tests.support.alarm_cases import api, dispatch, maintenance, runs, services
from tests.support.alarm_cases.parts import Case

__all__ = ["CASES", "Case"]

LANES = ("High", "Normal", "Low", "Long")
MAINTENANCE = ("Reconcile", "Repair", "Audit")
WORKERS = tuple(f"Execute{lane}" for lane in LANES)

CASES: dict[str, tuple[Case, str]] = {
    "NoTick": (dispatch.no_tick, "ticks-missing"),
    "RoundsWaiting": (dispatch.ticks_that_nobody_takes, "jobs-not-firing"),
    "WatermarkBehind": (dispatch.entries_that_cannot_be_claimed_for_hours, "jobs-not-firing"),
    "DispatchRoundsFailed": (dispatch.rounds_that_fail, "jobs-not-firing"),
    "NewCodeThatFails": (dispatch.rounds_that_fail, "release-failing"),
    "RoundsUnfinished": (dispatch.rounds_that_run_out_of_time, "jobs-not-firing"),
    "SendsRefused": (dispatch.lanes_that_refuse, "jobs-not-firing"),
    "ClaimsFailed": (dispatch.claims_that_fail, "jobs-not-firing"),
    "ClaimsRefused": (dispatch.claims_that_are_refused, "jobs-not-firing"),
    "StatementsThrottled": (dispatch.throttling_that_stays, "jobs-not-firing"),
    "CursorsQuarantined": (dispatch.a_cursor_that_makes_no_sense, "jobs-need-attention"),
    "ClaimsDeferred": (dispatch.records_of_runs_that_cannot_be_read, "jobs-not-firing"),
    "DispatchEventsRefused": (dispatch.a_bus_that_refuses_skips, "maintenance-failing"),
    "DeadLettersWaiting": (runs.a_dead_run, "jobs-need-attention"),
    "TargetsFailing": (runs.many_dead_runs, "targets-failing"),
    "IllTarget": (runs.an_ill_target, "jobs-need-attention"),
    **{f"Lateness{lane}": (runs.late_starts, "runs-late") for lane in LANES},
    **{f"QueuesUnread{lane}{of}": (runs.nobody_at_work, "lanes-not-draining") for lane in LANES for of in ("", "Bulk")},
    "MessagesFailed": (runs.workers_that_fail, "workers-failing"),
    "RescueReadsFailed": (runs.a_table_of_runs_that_does_not_answer, "workers-failing"),
    "EventsRefused": (runs.a_bus_that_refuses, "maintenance-failing"),
    "ResultsLost": (runs.a_store_of_results_that_refuses, "maintenance-failing"),
    "JobsPaused": (runs.deaths_in_a_row, "jobs-need-attention"),
    "PausesFailed": (runs.deaths_that_cannot_be_counted, "jobs-need-attention"),
    "DeadLettersRecorded": (maintenance.lost_to_the_dead_letters, "runs-lost-or-doubled"),
    "DeadLettersUnreadable": (maintenance.unreadable, "maintenance-failing"),
    "ReconciliationsFailed": (maintenance.a_reconciler_that_fails, "maintenance-failing"),
    "ReconcilerJobsPaused": (maintenance.a_death_that_the_reconciler_records, "jobs-need-attention"),
    "ReconcilerPausesFailed": (maintenance.a_death_that_the_reconciler_cannot_count, "jobs-need-attention"),
    "ReconcilerEventsRefused": (maintenance.a_death_that_nobody_is_told, "maintenance-failing"),
    "RepairsFailed": (maintenance.a_pass_that_fails, "maintenance-failing"),
    "CleanUpsFailed": (maintenance.a_clean_up_that_fails, "maintenance-failing"),
    "EntriesBelowWatermark": (maintenance.an_entry_below_the_watermark, "runs-lost-or-doubled"),
    "CursorsOutsideIndex": (maintenance.a_cursor_that_fell_out_of_the_index, "runs-lost-or-doubled"),
    "CursorsFoundQuarantined": (maintenance.a_cursor_that_nobody_has_corrected, "jobs-need-attention"),
    "OccurrencesLost": (maintenance.a_record_that_was_lost, "runs-lost-or-doubled"),
    "RunsStuck": (maintenance.a_run_that_is_stuck, "runs-lost-or-doubled"),
    "WatchesFailed": (maintenance.a_watch_that_fails, "maintenance-failing"),
    "StepsLost": (maintenance.a_start_in_a_workflow_that_was_lost, "runs-lost-or-doubled"),
    "OccurrencesDoubled": (maintenance.a_catch_up_over_what_ran, "runs-lost-or-doubled"),
    "AuditsFailed": (maintenance.an_audit_that_fails, "maintenance-failing"),
    "AuditsWaiting": (maintenance.an_audit_with_too_much_open, "maintenance-failing"),
    "ArchivesFailed": (maintenance.an_archive_that_refuses, "maintenance-failing"),
    "ArchiveStopped": (maintenance.a_stream_that_nobody_reads, "maintenance-failing"),
    "InternalErrors": (api.requests_that_fail, "api-failing"),
    "ApiSendsRefused": (api.lanes_that_take_nothing, "api-failing"),
    "ArchiveLettersWaiting": (services.letters_in("archive"), "maintenance-failing"),
    "EventsLettersWaiting": (services.letters_in("events"), "maintenance-failing"),
    "AllSilent": (maintenance.nobody_is_started, "maintenance-failing"),
    "TickErrors": (services.errors_of("Tick"), "ticks-missing"),
    "TickThrottles": (services.throttles_of("Tick"), "ticks-missing"),
    "NewDispatchErrors": (services.errors_of("Dispatch"), "release-failing-dispatch"),
    **{
        f"New{worker}Errors": (services.errors_of(worker), f"release-failing-{worker[:7].lower()}-{worker[7:].lower()}")
        for worker in WORKERS
    },
    "DispatchErrors": (services.errors_of("Dispatch"), "jobs-not-firing"),
    "DispatchThrottles": (services.throttles_of("Dispatch"), "jobs-not-firing"),
    **{f"{worker}Errors": (services.errors_of(worker), "workers-failing") for worker in WORKERS},
    **{f"{worker}Throttles": (services.throttles_of(worker), "concurrency-exhausted") for worker in WORKERS},
    **{f"{name}Errors": (services.errors_of(name), "maintenance-failing") for name in MAINTENANCE},
    **{f"{name}Throttles": (services.throttles_of(name), "maintenance-failing") for name in MAINTENANCE},
    "ArchiveErrors": (services.errors_of("Archive"), "maintenance-failing"),
    "ArchiveThrottles": (services.throttles_of("Archive"), "maintenance-failing"),
    **{f"{name}Errors": (services.errors_of(name), "api-failing") for name in ("Api", "Callbacks", "Claims")},
    **{f"{name}Throttles": (services.throttles_of(name), "api-failing") for name in ("Api", "Callbacks")},
    # Tables that are throttled for long, by who asks them for what.
    "JobsReadThrottles": (runs.workers_that_fail, "workers-failing"),
    "JobsWriteThrottles": (dispatch.throttling_that_stays, "jobs-not-firing"),
    "DueReadThrottles": (dispatch.rounds_that_fail, "jobs-not-firing"),
    "DueWriteThrottles": (dispatch.throttling_that_stays, "jobs-not-firing"),
    "TenantReadThrottles": (api.requests_that_fail, "api-failing"),
    "TenantWriteThrottles": (api.requests_that_fail, "api-failing"),
    "RunsReadThrottles": (runs.a_table_of_runs_that_does_not_answer, "workers-failing"),
    "RunsWriteThrottles": (runs.records_that_cannot_be_written, "workers-failing"),
    "DeadReadThrottles": (api.requests_that_fail, "api-failing"),
    "DeadWriteThrottles": (runs.records_that_cannot_be_written, "workers-failing"),
}

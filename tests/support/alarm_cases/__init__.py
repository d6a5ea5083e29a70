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
    "ShardQueueOld": (dispatch.ticks_that_nobody_takes, "rounds-not-starting"),
    "WatermarkBehind": (dispatch.entries_that_cannot_be_claimed_for_hours, "watermark-behind"),
    "DispatchRoundsFailed": (dispatch.rounds_that_fail, "jobs-not-firing"),
    "NewCodeThatFails": (dispatch.rounds_that_fail, "release-failing"),
    "RoundsUnfinished": (dispatch.rounds_that_run_out_of_time, "capacity-short"),
    "CatchUpStorm": (dispatch.a_long_outage, "catch-up-large"),
    "SendsRefused": (dispatch.lanes_that_refuse, "jobs-not-firing"),
    "ClaimsFailed": (dispatch.claims_that_fail, "jobs-not-firing"),
    "ClaimsRefused": (dispatch.claims_that_are_refused, "jobs-not-firing"),
    "StatementsThrottled": (dispatch.throttling_that_stays, "capacity-short"),
    "CursorsQuarantined": (dispatch.a_cursor_that_makes_no_sense, "jobs-stopped"),
    "ClaimsDeferred": (dispatch.records_of_runs_that_cannot_be_read, "jobs-not-firing"),
    "DispatchEventsRefused": (dispatch.a_bus_that_refuses_skips, "outcomes-not-delivered"),
    "DeadLettersWaiting": (runs.a_dead_run, "dead-letters-waiting"),
    "RunsDying": (runs.many_dead_runs, "runs-dying"),
    "FailureRate": (runs.an_ill_target, "runs-dying"),
    **{f"Lateness{lane}": (runs.late_starts, "runs-late") for lane in LANES},
    **{
        f"OldestMessage{lane}{of}": (runs.nobody_at_work, "lanes-not-draining") for lane in LANES for of in ("", "Bulk")
    },
    **{f"WorkersIdle{lane}": (runs.workers_that_take_nothing, "lanes-not-draining") for lane in ("High", "Normal")},
    "MessagesFailed": (runs.workers_that_fail, "workers-failing"),
    "RescueReadsFailed": (runs.a_table_of_runs_that_does_not_answer, "workers-failing"),
    "EventsRefused": (runs.a_bus_that_refuses, "outcomes-not-delivered"),
    "ResultsLost": (runs.a_store_of_results_that_refuses, "outcomes-not-delivered"),
    "JobsPaused": (runs.deaths_in_a_row, "jobs-stopped"),
    "PausesFailed": (runs.deaths_that_cannot_be_counted, "jobs-stopped"),
    "DeadLettersRecorded": (maintenance.lost_to_the_dead_letters, "runs-lost-or-doubled"),
    "DeadLettersUnreadable": (maintenance.unreadable, "maintenance-failing"),
    "ReconciliationsFailed": (maintenance.a_reconciler_that_fails, "maintenance-failing"),
    "ReconcilerJobsPaused": (maintenance.a_death_that_the_reconciler_records, "jobs-stopped"),
    "ReconcilerPausesFailed": (maintenance.a_death_that_the_reconciler_cannot_count, "jobs-stopped"),
    "ReconcilerEventsRefused": (maintenance.a_death_that_nobody_is_told, "outcomes-not-delivered"),
    "RepairsFailed": (maintenance.a_pass_that_fails, "maintenance-failing"),
    "CleanUpsFailed": (maintenance.a_clean_up_that_fails, "maintenance-failing"),
    "EntriesBelowWatermark": (maintenance.an_entry_below_the_watermark, "runs-lost-or-doubled"),
    "CursorsOutsideIndex": (maintenance.a_cursor_that_fell_out_of_the_index, "runs-lost-or-doubled"),
    "CursorsFoundQuarantined": (maintenance.a_cursor_that_nobody_has_corrected, "jobs-stopped"),
    "OccurrencesLost": (maintenance.a_record_that_was_lost, "runs-lost-or-doubled"),
    "StepsLost": (maintenance.a_start_in_a_workflow_that_was_lost, "runs-lost-or-doubled"),
    "OccurrencesDoubled": (maintenance.a_catch_up_over_what_ran, "runs-lost-or-doubled"),
    "AuditsFailed": (maintenance.an_audit_that_fails, "maintenance-failing"),
    "AuditsWaiting": (maintenance.an_audit_with_too_much_open, "maintenance-failing"),
    "ArchivesFailed": (maintenance.an_archive_that_refuses, "maintenance-failing"),
    "ArchiveSilent": (maintenance.a_stream_that_nobody_reads, "archive-silent"),
    "ArchiveBehind": (maintenance.an_archive_that_does_not_keep_up, "archive-behind"),
    "InternalErrors": (api.requests_that_fail, "api-failing"),
    "ApiSendsRefused": (api.lanes_that_take_nothing, "jobs-not-firing"),
    "ArchiveLettersWaiting": (services.letters_in("ArchiveFailuresQueueUrl"), "archive-behind"),
    "EventsLettersWaiting": (services.letters_in("EventFailuresQueueUrl"), "outcomes-not-delivered"),
    "AllSilent": (maintenance.nobody_is_started, "maintenance-silent"),
    "TickErrors": (services.errors_of("Tick"), "ticks-missing"),
    "TickThrottles": (services.throttles_of("Tick"), "ticks-missing"),
    "DispatchErrors": (services.errors_of("Dispatch"), "dispatch-errors"),
    "DispatchErrorsEverywhere": (services.errors_of("Dispatch"), "rounds-not-starting"),
    "DispatchThrottles": (services.throttles_of("Dispatch"), "rounds-not-starting"),
    **{f"{worker}Errors": (services.errors_of(worker), f"execute-{worker[7:].lower()}-errors") for worker in WORKERS},
    **{f"{worker}Throttles": (services.throttles_of(worker), "runs-lost-or-doubled") for worker in WORKERS},
    **{f"{name}Errors": (services.errors_of(name), "maintenance-silent") for name in MAINTENANCE},
    **{f"{name}Throttles": (services.throttles_of(name), "maintenance-silent") for name in MAINTENANCE},
    "ArchiveErrors": (services.errors_of("Archive"), "archive-behind"),
    "ArchiveThrottles": (services.throttles_of("Archive"), "archive-behind"),
    **{f"{name}Errors": (services.errors_of(name), "api-failing") for name in ("Api", "Callbacks", "Claims")},
    **{f"{name}Throttles": (services.throttles_of(name), "api-failing") for name in ("Api", "Callbacks", "Claims")},
    # Tables that are throttled for long, by who asks them for what.
    "JobsReadThrottles": (runs.workers_that_fail, "workers-failing"),
    "JobsWriteThrottles": (dispatch.throttling_that_stays, "capacity-short"),
    "DueReadThrottles": (dispatch.rounds_that_fail, "jobs-not-firing"),
    "DueWriteThrottles": (dispatch.throttling_that_stays, "capacity-short"),
    "TenantReadThrottles": (api.requests_that_fail, "api-failing"),
    "TenantWriteThrottles": (api.requests_that_fail, "api-failing"),
    "RunsReadThrottles": (runs.a_table_of_runs_that_does_not_answer, "workers-failing"),
    "RunsWriteThrottles": (runs.records_that_cannot_be_written, "workers-failing"),
    "DeadReadThrottles": (api.requests_that_fail, "api-failing"),
    "DeadWriteThrottles": (runs.records_that_cannot_be_written, "workers-failing"),
}

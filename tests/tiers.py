"""Which tests `make test` runs. `make test-all` runs the others; `pytest PATH` runs all that it names.

`make test` has to end within four minutes on two idle cores. So a test belongs to it unless it is a second form of
another one (the second emulator, more examples), or is expensive. The expensive ones are listed here.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

EXTENDED = (
    "schedules/tests/integration/",
    "schedules/tests/property/",
    "schedules/tests/unit/test_croner.py",
    "tests/compat/",
    "tests/console/",
    "tests/contract/aws/test_secrets.py",
    "tests/contract/jobs/test_tenant_limits.py",
    "tests/contract/runs/test_state_index.py",
    "tests/contract/test_erased_tenants.py",
    "tests/contract/test_failover.py",
    "tests/contract/workflows/test_workflow_store.py",
    "tests/e2e/",
    "tests/infra/deployment/test_construct.py",
    "tests/infra/deployment/test_lambda_python.py",
    "tests/infra/deployment/test_nag.py",
    "tests/infra/deployment/test_setup.py",
    "tests/infra/deployment/test_stage_wheel.py",
    "tests/infra/functions/test_console_files.py",
    "tests/infra/functions/test_layer.py",
    "tests/infra/functions/test_least_privilege.py",
    "tests/infra/observability/test_alarms.py",
    "tests/infra/observability/test_outages.py",
    "tests/infra/settings/test_deployment_settings.py",
    "tests/infra/settings/test_throughput.py",
    "tests/infra/stores/test_standby.py",
    "tests/integration/",
    "tests/property/test_seat_protocol.py",
    "tests/property/test_workflows.py",
    "tests/prove/",
    "tests/scenarios/dispatch/test_many_due.py",
    "tests/scenarios/dispatch/test_raised_shards.py",
    "tests/scenarios/dispatch/test_restored.py",
    "tests/scenarios/dispatch/test_rounds_in_trouble.py",
    "tests/scenarios/jobs/test_all_runs.py",
    "tests/scenarios/jobs/test_moved_jobs.py",
    "tests/scenarios/jobs/test_pause_until.py",
    "tests/scenarios/maintenance/test_audit.py",
    "tests/scenarios/maintenance/test_audit_in_trouble.py",
    "tests/scenarios/maintenance/test_index_repair.py",
    "tests/scenarios/maintenance/test_suspended_tenants.py",
    "tests/scenarios/overlap/test_active_limit.py",
    "tests/scenarios/overlap/test_storms.py",
    "tests/scenarios/test_double.py",
    "tests/scenarios/test_fault_table.py",
    "tests/scenarios/worker/test_costs.py",
    "tests/scenarios/worker/test_faults.py",
    "tests/scenarios/worker/test_worker_faults.py",
    "tests/scenarios/workflows/test_costs.py",
    "tests/scenarios/workflows/test_faults.py",
    "tests/scenarios/workflows/test_repairs.py",
    "tests/unit/adapters/aws/test_transport.py",
    "tests/unit/adapters/targets/test_aws_call.py",
    "tests/unit/benchmarks/",
    "tests/unit/cli/test_full_output.py",
    "tests/unit/cli/test_processes.py",
    "tests/unit/client/test_aws_session.py",
    "tests/unit/docs/test_recipes.py",
    "tests/unit/docs/test_testing_page.py",
    "tests/unit/testing/test_no_sockets.py",
)
"""Folders and files that `make test-all` alone runs."""

SHORT = (
    "tests/console/test_runs.py",
    "tests/e2e/test_main_job.py",
    *(f"tests/integration/api/test_{name}.py" for name in (
        "creating_over_http", "editing_over_http", "jobs_over_http", "runs_over_http", "standby_over_http",
    )),
    "tests/prove/test_mutants.py",
    "tests/unit/benchmarks/test_published.py",
)  # fmt: skip
"""What `make test` runs of the folders above: a page of the console, a story on the deployed stack, the main routes,
whether planted faults can be planted, and the comparison of published numbers with the results.
"""

LONG_CASES = tuple(
    f"{file}::{begin}{case}"
    for file, begin, cases in (
        ("tests/property/test_wait_queue_protocol.py", "test_wait_queue_protocol_", (
            "breaker_has_one_probe_and_no_run_is_forgotten[1-allow, key",
            "breaker_has_one_probe_and_no_run_is_forgotten[2",
            "breaker_holds_after_a_further_fault[a copy",
            "breaker_holds_after_a_further_fault[a lost answer",
            "breaker_holds_after_a_further_fault[a refusal",
            "holds_for_two_runs_and_one_worker_after_any_single_fault[a lost answer",
            "holds_for_two_runs_and_one_worker_after_any_single_fault[time",
            "holds_for_two_runs_in_every_order[a queue of one",
            "holds_for_two_runs_in_every_order[allow",
            "holds_for_two_runs_in_every_order[newest",
            "holds_for_two_runs_in_every_order[replace",
            "places_that_are_counted_before_the_call_is_removed_are_found",
            "rate_is_kept_after_any_single_fault[a copy",
            "run_that_counts_in_each_of_its_places_is_found",
            "runs_of_two_jobs_share_a_key_after_any_single_fault[a crash",
            "runs_of_two_jobs_share_a_key_after_any_single_fault[a lost answer",
            "runs_of_two_jobs_share_a_key_after_any_single_fault[time",
            "runs_of_two_jobs_share_a_key_in_every_order",
            "start_that_takes_the_place_of_a_run_ahead_is_found[allow, key",
            "target_that_asks_for_a_pause_delays_the_runs_with_its_key[allow, key",
            "target_that_asks_for_a_pause_delays_the_runs_with_its_key[queue",
            "three_runs_and_one_worker_keep_a_rate_and_a_lock[newest",
            "three_runs_and_one_worker_keep_a_rate_and_a_lock[queue",
            "three_runs_and_one_worker_keep_them_while_the_limit_changes",
            "three_runs_and_two_workers_keep",
            "three_runs_of_two_jobs_wait_for_their_job_and_their_key[allow",
            "three_runs_of_two_jobs_wait_for_their_job_and_their_key[queue, key 1",
            "two_runs_that_are_called_at_once_start_in_histories_drawn",
        )),
        ("tests/property/test_workflow_protocol.py", "test_workflow_protocol_", (
            "keeps_its_guarantees_in_every_order_of_the_steps[chain_of_2-2-failures",
            "keeps_its_guarantees_in_random_orders_for_larger_graphs[eight_to_one",
            "with_one_changed_line_breaks_a_guarantee[a skipped step",
            "with_one_changed_line_breaks_a_guarantee[a start asks",
            "with_one_changed_line_breaks_a_guarantee[an end before",
            "with_one_changed_line_breaks_a_guarantee[only the jobs directly",
            "with_one_changed_line_breaks_a_guarantee[only who is due",
            "with_one_changed_line_breaks_a_guarantee[the parts are not marked",
            "with_one_changed_line_breaks_a_guarantee[who was stopped",
        )),
        ("tests/contract/test_any_refused_request.py", "test_any_refused_request_", (
            "changes_nothing", "without_tokens_changes_nothing",
        )),
        ("tests/console/test_runs.py", "test_runs_page_", (
            "invalid_response_is_reported_and_can_be_retried", "shows_hostile_error_text_literally",
        )),
        ("tests/e2e/test_main_job.py", "test_job_lifecycle_", ("restarted_stack_continues_where_it_stopped",)),
    )
    for case in cases
)  # fmt: skip
"""The expensive cases of other files that `make test-all` alone runs, by the beginnings of their names. A third of the
time of `make test` was theirs. A cheaper case of each kind remains there.
"""

SPREAD = (
    "tests/property/test_wait_queue_protocol.py",
    "tests/property/test_workflow_protocol.py",
    "tests/scenarios/test_fault_table.py",
    "tests/scenarios/workflows/test_faults.py",
    "tests/unit/docs/test_recipes.py",
)
"""Files that take minutes and whose tests share nothing. Any worker takes the next of their tests, because one worker
would be busy with them after all others have ended.
"""


def is_extended(path: Path) -> bool:
    """Whether only `make test-all` runs the tests of a file."""
    name = path.relative_to(ROOT).as_posix()
    return name.startswith(EXTENDED) and not name.startswith(SHORT)


def is_long(nodeid: str) -> bool:
    """Whether only `make test-all` runs this test of a file that `make test` runs."""
    return nodeid.startswith(LONG_CASES)


def check_tiers() -> None:
    """Raises UsageError for an entry that names nothing."""
    for case in LONG_CASES:
        name, _, test = case.partition("::")
        if f"def {test.partition('[')[0]}" not in (ROOT / name).read_text(encoding="utf-8"):
            raise pytest.UsageError(f"tests/tiers.py names {case}, which does not exist: remove or correct the entry")
    for entry in (*EXTENDED, *SHORT, *SPREAD):
        if not (ROOT / entry).exists():
            raise pytest.UsageError(f"tests/tiers.py names {entry}, which does not exist: remove or correct the entry")

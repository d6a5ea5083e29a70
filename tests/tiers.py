"""Which tests `make test` runs. `make test-all` runs the others; `pytest PATH` runs all that it names.

`make test` has to end within five minutes on two idle cores. So a test belongs to it unless it is a second form of
another one (the second emulator, more examples), or is expensive. The expensive ones are listed here.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

EXTENDED = (
    "schedules/tests/integration/",
    "schedules/tests/unit/test_croner.py",
    "tests/compat/",
    "tests/console/",
    "tests/contract/aws/test_secrets.py",
    "tests/contract/runs/test_state_index.py",
    "tests/contract/workflows/test_workflow_store.py",
    "tests/e2e/",
    "tests/infra/deployment/test_lambda_python.py",
    "tests/infra/deployment/test_nag.py",
    "tests/infra/deployment/test_setup.py",
    "tests/infra/functions/test_console_files.py",
    "tests/infra/functions/test_layer.py",
    "tests/infra/functions/test_least_privilege.py",
    "tests/infra/observability/test_alarms.py",
    "tests/infra/settings/test_deployment_settings.py",
    "tests/infra/settings/test_throughput.py",
    "tests/integration/",
    "tests/property/test_seat_protocol.py",
    "tests/prove/",
    "tests/scenarios/dispatch/test_many_due.py",
    "tests/scenarios/dispatch/test_raised_shards.py",
    "tests/scenarios/dispatch/test_restored.py",
    "tests/scenarios/jobs/test_all_runs.py",
    "tests/scenarios/maintenance/test_audit.py",
    "tests/scenarios/maintenance/test_audit_in_trouble.py",
    "tests/scenarios/test_double.py",
    "tests/scenarios/test_fault_table.py",
    "tests/scenarios/worker/test_costs.py",
    "tests/scenarios/worker/test_faults.py",
    "tests/scenarios/workflows/test_costs.py",
    "tests/scenarios/workflows/test_faults.py",
    "tests/scenarios/workflows/test_repairs.py",
    "tests/unit/benchmarks/",
    "tests/unit/adapters/aws/test_transport.py",
    "tests/unit/adapters/targets/test_aws_call.py",
    "tests/unit/client/test_aws_session.py",
    "tests/unit/docs/test_recipes.py",
    "tests/unit/docs/test_testing_page.py",
)
"""Folders and files that `make test-all` alone runs."""

SHORT = (
    "tests/console/test_runs.py",
    "tests/e2e/test_main_job.py",
    *(f"tests/integration/api/test_{name}.py" for name in (
        "creating_over_http", "editing_over_http", "jobs_over_http", "tag_scopes", "runs_over_http",
        "workflows_over_http",
    )),
    "tests/prove/test_mutants.py",
    "tests/unit/benchmarks/test_published.py",
)  # fmt: skip
"""What `make test` runs of the folders above: a page of the console, a story on the deployed stack, the main routes,
whether planted faults can be planted, and the comparison of published numbers with the results.
"""


def is_extended(path: Path) -> bool:
    """Whether only `make test-all` runs the tests of a file."""
    name = path.relative_to(ROOT).as_posix()
    return name.startswith(EXTENDED) and not name.startswith(SHORT)


def check_tiers() -> None:
    """Raises UsageError for an entry that names nothing."""
    for entry in (*EXTENDED, *SHORT):
        if not (ROOT / entry).exists():
            raise pytest.UsageError(f"tests/tiers.py names {entry}, which does not exist: remove or correct the entry")

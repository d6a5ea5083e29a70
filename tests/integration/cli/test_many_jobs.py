"""Many jobs at once: `duecourse jobs list --search` and its total."""

from __future__ import annotations

import json

import pytest

from tests.integration.api.test_workflows_over_http import Desk
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET


@pytest.fixture(autouse=True)
def jobs(desk: Desk) -> None:
    for number in range(5):
        body = {"id": f"bill-{number}", "name": "Invoices" if number < 2 else "", "schedule": "0 2 * * *"}
        desk.api.post(body | {"tags": ["billing"], "target": HTTP_TARGET})


def test_jobs_are_found_by_any_part_of_id_or_name_with_their_total(run: Run) -> None:
    found = run("jobs", "list", "--search", "VOICE")
    assert found.exit_code == 0, found.output
    assert [line.split()[0] for line in found.stdout.splitlines()[1:]] == ["bill-0", "bill-1", "2"]
    assert found.stdout.endswith("\n2 of 5 jobs\n")
    page = json.loads(run("jobs", "list", "--search", "ill-", "--limit", "2", "--json").stdout)
    assert page["total"] == {"matching": 5, "searched": 5, "complete": True}
    assert run("jobs", "list", "--search", "L-4", "-o", "name").stdout == "bill-4\n"
    assert run("jobs", "list", "--search", "nothing").stdout.endswith("0 of 5 jobs\n")

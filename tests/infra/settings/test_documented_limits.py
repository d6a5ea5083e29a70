"""What docs/api.md says of a tenant's limits is what the stages set."""

from __future__ import annotations

import re

from infra.settings.auth_config import LimitsConfig
from infra.stages import STAGES
from tests.support.template import ROOT

SECTION = re.compile(r"^## Limits\n(.*?)^## ", re.MULTILINE | re.DOTALL)


def documented() -> list[list[str]]:
    """The cells of the table, row by row, without the line under its head."""
    found = SECTION.search((ROOT / "docs" / "api.md").read_text())
    assert found is not None
    rows = [line.strip("|").split("|") for line in found[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not row[0].startswith("---")]


def figures(limits: LimitsConfig) -> list[str]:
    """A stage's limits, in the order and the form of the table."""
    return [
        f"{limits.requests_per_second} / {limits.burst}",
        f"{limits.job_quota:,}",
        f"{limits.smallest_interval_seconds:,}",
        f"{limits.backfill_limit:,}",
    ]


def test_the_table_of_limits_has_what_the_stages_set() -> None:
    head, *rows = documented()
    stages = head[1:-1]
    assert stages == ["dev", "prod"]
    for column, stage in enumerate(stages, start=1):
        assert [row[column] for row in rows] == figures(STAGES[stage].limits)

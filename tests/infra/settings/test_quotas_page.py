"""The numbers in the table of quotas (docs/operations.md) are those of the code and of stage prod."""

from math import ceil

from duecourse.cli.doctor.secret_reads import MEAN_SECONDS, PARAMETER_READS
from duecourse.domain.targets.oidc import REUSED_SECONDS
from infra.stages import STAGES
from tests.support.template import ROOT

RSA_OPERATIONS = 500


def row(beginning: str) -> str:
    page = (ROOT / "docs" / "operations.md").read_text()
    (found,) = (line for line in page.splitlines() if line.startswith(f"| {beginning}"))
    return found


def executions() -> int:
    return sum(lane.most_concurrent + lane.most_concurrent_in_bulk for lane in STAGES["prod"].lanes.values())


def test_quotas_page_reads_of_secrets_are_those_of_full_lanes() -> None:
    said = row("Parameter Store: GetParameter")
    assert f"÷ {int(MEAN_SECONDS)} s" in said
    assert f"prod's {executions()} executions" in said
    assert f"from {ceil(PARAMETER_READS * MEAN_SECONDS / executions())} secrets" in said


def test_quotas_page_signatures_are_those_of_full_lanes() -> None:
    said = row("KMS: RSA operations")
    assert f"÷ {REUSED_SECONDS:,} s" in said
    assert f"in {REUSED_SECONDS // 60} minutes" in said
    assert f"prod: {RSA_OPERATIONS * REUSED_SECONDS // executions() // 100 * 100:,} jobs" in said

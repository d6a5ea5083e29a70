"""How often the workers can read the store of secrets, compared with its quota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from duecourse.checks.check import Check, fine, warning
from duecourse.cli.doctor import metrics, queues
from duecourse.cli.doctor.facts import SecretReads
from duecourse.cli.doctor.stage import Stage
from duecourse.limits import SECRET_SECONDS, SECRET_SPREAD

PARAMETERS = "parameters"

PARAMETER_READS, MORE_PARAMETER_READS, SECRET_READS = 40, 3_000, 10_000
"""The default quotas for GetParameter, for GetParameter with higher throughput, and for GetSecretValue, in requests a
second for the account in a region (AWS General Reference, "AWS Systems Manager endpoints and quotas", "AWS Secrets
Manager endpoints and quotas").
"""

HIGHER_THROUGHPUT = "/ssm/parameter-store/high-throughput-enabled"

MEAN_SECONDS = SECRET_SECONDS * (1 - SECRET_SPREAD / 2)
"""How long a process caches a secret on average, in seconds."""

NAMES: Mapping[str, str] = {PARAMETERS: "Parameter Store", "secrets_manager": "Secrets Manager"}
DO: Mapping[str, str] = {
    PARAMETERS: "enable higher throughput (Parameter Store, settings), which costs extra, or let jobs share a secret",
    "secrets_manager": "raise the quota (Service Quotas, AWS Secrets Manager), or let jobs share a secret",
}


def secret_reads(stage: Stage) -> SecretReads:
    """Return what determines the reads. Names are counted; no value is read."""
    store = stage.worker_settings()["DUECOURSE_SECRET_STORE"]
    executions = queues.most_executions(stage)
    quota = _quota_of_parameters(stage) if store == PARAMETERS else SECRET_READS
    pages = _parameters(stage) if store == PARAMETERS else _managed(stage)
    stored, more = _counted(pages, quota * MEAN_SECONDS / executions)
    return SecretReads(store, stored, more, executions, metrics.most_executions(stage), quota)


def judge(found: SecretReads) -> Check:
    """Check whether the reads of all executions of the lanes together stay within the quota."""
    what = "secrets and tasks" if found.store == PARAMETERS else "secrets"
    if not found.stored:
        return fine("secrets", f"no {what} are stored")
    at_most = found.stored * found.executions / MEAN_SECONDS
    said = (
        f"{found.stored}{'+' if found.more else ''} {what} in {NAMES[found.store]}: at most {at_most:,.0f} reads a "
        f"second if all {found.executions:,} executions of the lanes use all of them (quota: {found.quota:,})"
    )
    if at_most <= found.quota:
        return fine("secrets", said)
    if found.most is not None:
        used = min(found.most, found.executions)
        said += f"; at most {found.stored * used / MEAN_SECONDS:,.0f} in the last hour"
    why = "reads above the quota fail: runs are retried, or use a value that is up to 15 minutes old"
    return warning("secrets", f"{said}; {why}", DO[found.store], "docs/operations.md#quotas-to-raise")


def _parameters(stage: Stage) -> Iterator[int]:
    """Yield the numbers of secrets and registered tasks, which have the same quota, by page."""
    below = [{"Key": "Path", "Option": "Recursive", "Values": [f"/duecourse/{stage.name}"]}]
    pages = stage.clients("ssm").get_paginator("describe_parameters").paginate(ParameterFilters=below)
    return (len(page["Parameters"]) for page in pages)


def _managed(stage: Stage) -> Iterator[int]:
    ours = [{"Key": "name", "Values": [f"duecourse/{stage.name}/"]}]
    pages = stage.clients("secretsmanager").get_paginator("list_secrets").paginate(Filters=ours)
    return (len(page["SecretList"]) for page in pages)


def _counted(pages: Iterator[int], enough: float) -> tuple[int, bool]:
    """Return the sum of the pages, and whether reading stopped early because the sum was above `enough`."""
    total = 0
    for page in pages:
        total += page
        if total > enough:
            return total, True
    return total, False


def _quota_of_parameters(stage: Stage) -> int:
    setting = stage.clients("ssm").get_service_setting(SettingId=HIGHER_THROUGHPUT)["ServiceSetting"]
    return MORE_PARAMETER_READS if setting["SettingValue"] == "true" else PARAMETER_READS

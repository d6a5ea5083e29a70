"""`duecourse doctor`: the first diagnosis of a stage with problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import click

from duecourse.cli.terminal import Command, plain, say

STAGE_HELP = """\
The stage to check, with your AWS credentials and region. The default is the local stack of this checkout.
[env: DUECOURSE_STAGE]"""

COLOURS = {"ok": "green", "warning": "yellow", "bad": "red", "unknown": "magenta"}


@click.command(cls=Command, example="duecourse doctor --stage prod")
@click.option("--stage", default="local", envvar="DUECOURSE_STAGE", metavar="STAGE", help=STAGE_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(stage: str, as_json: bool) -> None:
    """Check the health of a stage: whether its jobs fire in time, and whether anything failed.

    Checks the tick, the rules that start functions, shards and watermarks, overdue entries, quarantined cursors, every
    queue, dead letters, alarms, errors and throttles, the account's quotas, the last audits and this machine's clock.
    The command changes nothing. Each finding shows a first step and a reference to docs/runbooks.md.

    A check is bad if it requires action now. It is a warning if it can wait until morning (for example, a dead
    letter). The exit code is 0 if no check is bad, 1 if a check is bad, and 2 if no check is bad but a part of the
    stage could not be checked.
    """
    from duecourse.checks.check import exit_status
    from duecourse.cli.doctor.examine import Examined, examine
    from duecourse.cli.doctor.stage import clients_for, find_stage
    from duecourse.cli.output.values import print_json

    found = find_stage(stage, clients_for(stage))
    findings: list[Examined] = []
    if not as_json:
        click.echo(f"{found.stack} at {datetime.fromtimestamp(found.now, UTC):%Y-%m-%d %H:%M:%SZ}")
    for finding in examine(found):
        findings.append(finding)
        if not as_json:
            _show(finding.check.name, finding.check.verdict, finding.check.says)
            _remedy(finding.check.do, finding.check.runbook)
    status = exit_status([finding.check for finding in findings])
    if as_json:
        checks = [finding.document() for finding in findings]
        at = datetime.fromtimestamp(found.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        print_json({"stage": stage, "at": at, "exit_status": status, "checks": checks})
    else:
        click.echo(_summary([finding.check.verdict for finding in findings]))
    raise SystemExit(status)


def _show(name: str, verdict: str, says: str) -> None:
    click.echo(f"{click.style(f'{verdict:<8}', fg=COLOURS[verdict])} {plain(f'{name:<13} {says}')}")


def _remedy(do: str | None, runbook: str | None) -> None:
    for line in _present((None if do is None else f"first: {do}", None if runbook is None else f"see {runbook}")):
        say(f"{'':<23}{line}")


def _present(lines: Iterable[str | None]) -> list[str]:
    return [line for line in lines if line]


def _summary(verdicts: Sequence[str]) -> str:
    counted = [f"{verdicts.count(each)} {each}" for each in ("bad", "warning", "unknown", "ok") if each in verdicts]
    return ", ".join(counted)

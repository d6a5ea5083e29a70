"""`duecourse doctor`: the first diagnosis of a stage with problems."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from duecourse.cli.terminal import Command, fitted, outputs

if TYPE_CHECKING:
    from duecourse.checks.check import Check

STAGE_HELP = """\
The stage to check, with your AWS credentials and region. The default is the local stack of this checkout.
[env: DUECOURSE_STAGE]"""

VERDICT, NAME, SAYS = 8, 16, 26
"""The widths of a verdict and of a check's name, and the column in which its text begins."""

COLOURS = {"ok": "green", "warning": "yellow", "bad": "red", "unknown": "magenta"}


@click.command(cls=Command, example="duecourse doctor --stage prod")
@click.option("--stage", default="local", envvar="DUECOURSE_STAGE", metavar="STAGE", help=STAGE_HELP)
@outputs(ids=False)
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
    from duecourse.cli.output.documents import Diagnosis, utc
    from duecourse.cli.output.values import print_json

    found = find_stage(stage, clients_for(stage))
    findings: list[Examined] = []
    if not as_json:
        click.echo(f"{found.stack} at {datetime.fromtimestamp(found.now, UTC):%Y-%m-%d %H:%M:%SZ}")
    for finding in examine(found):
        findings.append(finding)
        if not as_json:
            print_check(finding.check)
    status = exit_status([finding.check for finding in findings])
    if as_json:
        checks = [finding.document() for finding in findings]
        print_json(Diagnosis(stage=stage, at=utc(found.now), exit_status=status, checks=checks))
    else:
        click.echo(_summary([finding.check.verdict for finding in findings]))
    raise SystemExit(status)


def print_check(check: Check) -> None:
    """Print the result of a check with its first step and its runbook, in lines that fit the terminal."""
    first, *more = fitted(f"{check.verdict:<{VERDICT}} {check.name:<{NAME}} {check.says}", SAYS)
    lines = [f"{click.style(first[:VERDICT], fg=COLOURS[check.verdict])}{first[VERDICT:]}", *more]
    for word, text in (("first:", check.do), ("see", check.runbook)):
        if text:
            lines += fitted(f"{'':<{SAYS}}{word} {text}", SAYS)
    click.echo("\n".join(lines))


def _summary(verdicts: Sequence[str]) -> str:
    counted = [f"{verdicts.count(each)} {each}" for each in ("bad", "warning", "unknown", "ok") if each in verdicts]
    return ", ".join(counted)

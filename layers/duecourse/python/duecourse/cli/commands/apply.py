"""`duecourse apply` and `duecourse jobs apply`: change jobs so that they match files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn

from duecourse.cli.commands.options import confirm, connected, named_options, yes_option
from duecourse.cli.manifests.documents import FaultsError, Manifest, read_files
from duecourse.cli.manifests.moving import CONSEQUENCES
from duecourse.cli.manifests.plan import SIDE_BY_SIDE, Action, Step, carry_out, in_turn, patient, plan, told
from duecourse.cli.output.documents import Plan, PlannedField, PlannedStep
from duecourse.cli.output.jobs import starts_others
from duecourse.cli.output.schedule_change import FEW, change_lines
from duecourse.cli.output.values import print_json, schedule_text
from duecourse.cli.progress import awaited, bar
from duecourse.cli.terminal import CliError, Command, InterruptedCliError, UsageError, plain, say, usage_text
from duecourse.cli.when import zone_of
from duecourse.client import ApiError, ApiUnreachableError, Client
from duecourse.client.models import ScheduleChange

EXAMPLE = """\
duecourse apply -f jobs/                              # shows the plan, prompts, applies
duecourse apply -f jobs/ --dry-run                    # in CI: exit code 2 if there is a difference
duecourse apply -f jobs/ --owner billing --prune --yes

# jobs/nightly.yaml; `duecourse jobs export nightly` writes such files
id: nightly
schedule: 0 2 * * *
timezone: Europe/Berlin
target: {type: http, url: https://example.com/nightly}
---
workflow: etl
schedule: 0 3 * * *
jobs:
  extract: {job: {target: {type: http, url: https://example.com/extract}}}
  load: {after: [extract], job: {target: {type: http, url: https://example.com/load}}}"""

DIFFERENT = 2
"""The exit code of a dry run with differences. Failures exit with 1, and so do invalid options."""

_SAID = {Action.CREATE: "created", Action.CHANGE: "changed", Action.REMOVE: "removed"}
_ASKED = {Action.CREATE: "create", Action.CHANGE: "change", Action.REMOVE: "remove"}
_COLOURS = {Action.CREATE: "green", Action.CHANGE: "yellow", Action.REMOVE: "red"}


class Applying(Command):
    """A command that exits with 2 only for a difference. Invalid options exit with 1 as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises CliError."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise CliError(usage_text(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Raises CliError."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise CliError(error.message) from error


@click.command(cls=Applying, example=EXAMPLE)
@click.option(
    "-f", "--file", "paths", multiple=True, required=True, metavar="PATH", help="A file or folder; - reads from stdin."
)
@click.option(
    "--dry-run", is_flag=True, help="Show the plan only. Exit codes: 0 no difference, 2 a difference, 1 an error."
)
@click.option(
    "--owner", metavar="NAME", help="Tag the jobs of the files with managed-by=NAME; reject jobs of another owner."
)
@click.option("--prune", is_flag=True, help="Remove jobs that have the owner's tag and are not in the files.")
@click.option("--allow-empty", is_flag=True, help="With --prune: remove all jobs of the owner if the files are empty.")
@yes_option
@named_options
def apply(
    paths: Sequence[str],
    dry_run: bool,
    owner: str | None,
    prune: bool,
    allow_empty: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Create, change and remove jobs and workflows to match the files.

    Files are YAML or JSON with any number of documents. A document is a job in the format of POST /v1/jobs with its
    id, or a workflow with `workflow: NAME` instead of an id. Omitted fields get their defaults. If a document is
    not valid, nothing is written. If a job changed after the plan was made, it is not written. Jobs can move
    between workflows, and get or lose their own schedule, in one plan. With --prune a workflow can be replaced with
    one of another name. A job with `moved_from: OLD` replaces the job OLD. With `shadow: true`, a new job is
    a shadow of another scheduler.
    """
    if prune and not owner:
        raise CliError("--prune removes only jobs that have the owner's tag; set the owner with --owner")
    try:
        found = read_files(paths, allow_empty=allow_empty)
        manifests = [each if owner is None else each.owned(owner) for each in found]
        if prune and not manifests and not allow_empty:
            raise CliError(
                "the files contain no document, so --prune would remove all jobs of the owner; check the files, or add "
                "--allow-empty"
            )
        with connected(api, sign) as client:
            with awaited("making the plan …"):
                steps = plan(client, manifests, owner, prune=prune)
            settle(client, steps, dry_run=dry_run, yes=yes, as_json=as_json)
    except FaultsError as error:
        raise CliError("\n".join(["nothing was changed:", *map(plain, error.faults)])) from error


def settle(client: Client, steps: Sequence[Step], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Print the plan, and apply it after a confirmation. Raises SystemExit after a dry run, CliError for a failed
    step.
    """
    todo = [step for step in steps if step.action is not Action.KEEP]
    print_json(_document(steps)) if as_json else _show(steps)
    if dry_run:
        raise SystemExit(DIFFERENT if todo else 0)
    if todo and not yes:
        confirm(f"Apply ({_counts(todo)})?")
    if failed := _carry_out(client, todo, quiet=as_json):
        raise CliError(f"{failed:,} of {len(todo):,} failed; run the command again to continue")
    if todo and not as_json:
        say(f"applied: {len(todo):,} change{'s' * (len(todo) != 1)}")
    for step in steps:
        if step.was_promoted and step.manifest is not None:
            place = step.manifest.place("shadow")
            click.echo(plain(f"{place}: {step.id} is not a shadow, so shadow has no effect; remove it"), err=True)
    starting = [step for step in todo if step.manifest is not None and starts_others(step.manifest.body)]
    for job_id in (step.id for step in starting):
        for warning in patient(partial(client.get_job_warnings, job_id)).items:
            if warning.kind in ("notify", "then"):
                click.echo(plain(f"{job_id}: {warning.says} {warning.do}"), err=True)


MANY = 5
"""If more jobs change, the plan only has the number of their changed runs, without the first ones."""


def _show(steps: Sequence[Step]) -> None:
    """Print the plan: one line for each step, with its differences below."""
    console = Console(highlight=False, soft_wrap=True)
    few = FEW if sum(step.action is Action.CHANGE for step in steps) <= MANY else 0
    for step in steps:
        if step.action is Action.KEEP:
            continue
        console.print(
            plain(f"{step.action} {step.kind} {step.id}{_summary(step)}"), style=_COLOURS[step.action], markup=False
        )
        if step.managed_by is not None:
            console.print(plain(f"    the next apply --owner {step.managed_by} reverts this"), markup=False)
        for each in (*step.differences, *_consequences(step), *_changed_runs(step, few)):
            console.print(plain(f"    {each}"), markup=False)
    say(f"plan: {_counts(steps)}")


def _summary(step: Step) -> str:
    """Return the schedule and the target of a new job or workflow, the old id of a moved job, the old ids of a new job,
    none of which exists, and whether the step is an interim one; empty for other steps.
    """
    if step.interim:
        return " (interim)"
    if step.moved_from is not None:
        return f" (moved from {step.moved_from})"
    if step.action is not Action.CREATE or step.manifest is None:
        return ""
    body = step.manifest.body
    target = body.get("target")
    kind = target.get("type") if isinstance(target, dict) else None
    jobs = f"{len(body['jobs'])} jobs" if step.is_workflow else body.get("task") or kind or ""
    shadow = ", a shadow of another scheduler" if step.manifest.shadow else ""
    missing = f" ({', '.join(step.not_found)} not found)" if step.not_found else ""
    return f"{missing}: {schedule_text(body.get('schedule'))} ({body.get('timezone', 'UTC')}), {jobs}{shadow}"


def _consequences(step: Step) -> tuple[str, ...]:
    return () if step.moved_from is None else tuple(each.format(step.moved_from) for each in CONSEQUENCES)


def _schedule_change(step: Step) -> ScheduleChange | None:
    """Return what the change of a stored job does to its next runs; None if nothing."""
    return step.tried.schedule_change if step.action is Action.CHANGE and step.tried is not None else None


def _changed_runs(step: Step, few: int) -> Iterator[str]:
    if step.tried is not None and (change := _schedule_change(step)) is not None:
        yield from change_lines(change, zone_of(step.tried.timezone), few)


def _said(step: Step) -> str:
    said = "moved" if step.moved_from is not None else _SAID[step.action]
    return f"{said} (interim)" if step.interim else said


def _counts(steps: Sequence[Step]) -> str:
    counts = Counter(step.action for step in steps)
    said = [f"{counts[action]:,} to {word}" for action, word in _ASKED.items()]
    return ", ".join([*said, *([f"{counts[Action.KEEP]:,} unchanged"] if counts[Action.KEEP] else [])])


def _document(steps: Sequence[Step]) -> Plan:
    items: list[PlannedStep] = []
    for step in steps:
        found = [PlannedField(field=each.field, before=each.before, after=each.after) for each in step.differences]
        items.append({"action": step.action.name.lower(), "kind": step.kind, "id": step.id, "differences": found})
        if step.moved_from is not None:
            items[-1]["moved_from"] = step.moved_from
        if step.interim:
            items[-1]["interim"] = True
        if step.action is Action.CREATE and step.manifest is not None and step.manifest.shadow:
            items[-1]["shadow"] = True
        if step.not_found:
            items[-1]["not_found"] = list(step.not_found)
        if (change := _schedule_change(step)) is not None:
            items[-1]["schedule_change"] = change.document
    return {"items": items, "next_cursor": None}


def _carry_out(client: Client, steps: Sequence[Step], *, quiet: bool) -> int:
    """Apply the steps group by group, with the steps of a group in parallel. Return the number of failures. Raises
    InterruptedCliError after Ctrl-C, when the steps in progress have ended.
    """
    failed = 0
    applied = list[Step]()
    with bar("[progress.description]{task.description}", MofNCompleteColumn(), quiet=quiet) as progress:
        shown = progress.add_task("applying", total=len(steps))

        etags: dict[str, str | None] = {}  # of workflows that the plan changes twice

        def work(step: Step) -> str | None:
            try:
                etag = carry_out(client, replace(step, etag=etags.get(step.id, step.etag)))
                if step.interim and step.is_workflow:
                    etags[step.id] = etag
            except ApiError as error:
                return "; ".join(told(step.manifest or Manifest(step.id, {}, file=step.kind), error))
            except (ApiUnreachableError, FaultsError) as error:
                return str(error)
            applied.append(step)
            return None

        try:
            with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
                for group in in_turn(steps):
                    for step, fault in zip(group, threads.map(work, group), strict=True):
                        progress.advance(shown)
                        failed += fault is not None
                        if fault is not None:
                            click.echo(plain(f"{step.kind} {step.id} was not {_said(step)}: {fault}"), err=True)
                        elif not quiet:
                            say(f"{step.kind} {step.id} {_said(step)}")
        except KeyboardInterrupt:
            done = f"{len(applied):,} of {len(steps):,} changes were applied"
            raise InterruptedCliError(f"interrupted; {done}; run the command again to continue") from None
    return failed

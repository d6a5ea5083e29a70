"""`duecourse jobs patch`: change the same fields of many jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import click

from duecourse.cli.commands.apply import Applying, settle
from duecourse.cli.commands.options import connected, named_options, yes_option
from duecourse.cli.manifests.difference import JOB_FIELDS, differences, only
from duecourse.cli.manifests.documents import MANAGED_BY, FaultsError, Manifest
from duecourse.cli.manifests.json_text import read_json
from duecourse.cli.manifests.plan import SIDE_BY_SIDE, Action, Step, every_job, patient, told
from duecourse.cli.progress import awaited
from duecourse.cli.terminal import CliError, plain, say
from duecourse.client import ApiError, Client
from duecourse.client.bodies import JobPatch
from duecourse.client.models import PlannedSpread

EXAMPLE = """\
duecourse jobs patch --tag billing --set schedule="30 2 * * *" --dry-run
duecourse jobs patch --search invoice --set retry.max_attempts=5 --set owner=null
duecourse jobs patch --tag billing --set spread.within_minutes=30
duecourse jobs patch nightly hourly --set timeout_seconds=60 --yes"""

TIMES = frozenset({"schedule", "timezone"})
SPREAD_TOGETHER = 500
"""The API's maximum number of jobs in a plan."""


@click.command(cls=Applying, example=EXAMPLE)
@click.argument("job_ids", metavar="[JOB]...", nargs=-1)
@click.option("--tag", help="The jobs with this tag.")
@click.option("--search", help="The jobs with an id or a name that contains this text.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    required=True,
    metavar="FIELD=VALUE",
    help="The new value: JSON, or text if it is not valid JSON; null restores the default. FIELD can be a path: "
    "retry.max_attempts.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show the plan only. Exit codes: 0 no difference, 2 a difference, 1 an error."
)
@yes_option
@named_options
def patch(
    job_ids: Sequence[str],
    tag: str | None,
    search: str | None,
    changes: Sequence[str],
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Change the same fields of many jobs. Shows the plan, prompts for confirmation, then applies it.

    The API validates the change of each job before the first is written. If one is rejected, nothing is written. If a
    job changed after the plan was made, it is not written.
    """
    if bool(job_ids) == bool(tag or search):
        raise CliError("select jobs either by their ids (JOB …), or by --tag and --search")
    wanted = _patch(changes)
    try:
        with connected(api, sign) as client:
            with awaited("making the plan …"):
                names = job_ids or [job.id for job in every_job(client, tag, search)]
                if not names:
                    raise CliError("no jobs match; check --tag and --search with `duecourse jobs list`")
                places = _places(client, wanted, names)
                steps = _plan(client, wanted, names, places)
            if not as_json:
                _say_load(places.values())
            settle(client, steps, dry_run=dry_run, yes=yes, as_json=as_json)
    except FaultsError as error:
        raise CliError("\n".join(["nothing was changed:", *map(plain, error.faults)])) from error


def _places(client: Client, wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, PlannedSpread]:
    """Return the place of each job if the patch spreads jobs, so that they are also spread relative to each other. The
    API chooses the offset of each job by itself if the patch also changes the schedule.
    """
    spread = wanted.get("spread")
    if not isinstance(spread, dict) or spread.keys() != {"within_minutes"} or not TIMES.isdisjoint(wanted):
        return {}
    within, found = spread["within_minutes"], dict[str, PlannedSpread]()
    if type(within) is not int:
        return {}  # the API rejects it for each job
    for begin in range(0, len(names), SPREAD_TOGETHER):
        part = list(dict.fromkeys(names[begin : begin + SPREAD_TOGETHER]))
        found |= {each.id: each for each in patient(partial(client.plan_spread, part, within)).jobs}
    return found


def _say_load(places: Iterable[PlannedSpread]) -> None:
    """Print the load of the busiest minute of the jobs, before and after the change."""
    loads = [
        (each.before.runs, each.after.runs) for each in places if each.before is not None and each.after is not None
    ]
    if loads:
        before, after = map(max, zip(*loads, strict=True))
        say(f"the busiest minute of these jobs: {before:,} run{'s' * (before != 1)} before, {after:,} after")


def _plan(
    client: Client, wanted: dict[str, Any], names: Sequence[str], places: Mapping[str, PlannedSpread]
) -> list[Step]:
    """Return the change of each job. Raises FaultsError with all faults; a fault of several jobs is listed once."""

    def planned(name: str) -> Step | list[str]:
        place = places.get(name)
        if place is None or place.offset_minutes is None:
            return _planned(client, wanted, name)
        spread = wanted["spread"] | {"offset_minutes": place.offset_minutes}
        return _planned(client, wanted | {"spread": spread}, name)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        found = list(threads.map(planned, names))
    faults: dict[str, list[str]] = {}
    for name, each in zip(names, found, strict=True):
        for fault in () if isinstance(each, Step) else each:
            faults.setdefault(fault.removeprefix(f"{name}: "), []).append(name)
    if faults:
        raise FaultsError(f"{_some(jobs)}: {fault}" for fault, jobs in faults.items())
    return [each for each in found if isinstance(each, Step)]


def _some(jobs: Sequence[str]) -> str:
    """Return the first job, and the number of the others."""
    return jobs[0] if len(jobs) == 1 else f"{jobs[0]} and {len(jobs) - 1} more"


def _planned(client: Client, wanted: dict[str, Any], job_id: str) -> Step | list[str]:
    """Return the change of a job, or the API's errors on it."""
    try:
        before = patient(partial(client.get_job, job_id))
        changed = partial(client.patch_job, job_id, cast("JobPatch", wanted), if_match=before.etag, dry_run=True)
        tried = patient(changed)
    except ApiError as error:
        return told(Manifest(job_id, {}, file=job_id), error)
    after = only(tried.document, JOB_FIELDS)
    found = tuple(differences(only(before.document, JOB_FIELDS), after))
    action = Action.CHANGE if found else Action.KEEP
    owner = next((tag.removeprefix(MANAGED_BY) for tag in before.tags if tag.startswith(MANAGED_BY)), None)
    manifest = Manifest(job_id, after, file=job_id)
    return Step(action, job_id, False, manifest, before.etag, found, managed_by=owner, tried=tried)


def _patch(changes: Sequence[str]) -> dict[str, Any]:
    """Return the merge patch of `FIELD=VALUE`s. Raises CliError."""
    found: dict[str, Any] = {}
    for change in changes:
        path, separator, text = change.partition("=")
        *outer, name = path.strip().split(".")
        inner: Any = found
        for each in outer:
            inner = inner.setdefault(each, {})
            if not isinstance(inner, dict):
                break
        if not (separator and all((*outer, name))) or not isinstance(inner, dict) or name in inner:
            raise CliError(plain(f"--set {change}: write FIELD=VALUE, and set each field only once"))
        inner[name] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text

"""`duecourse jobs edit`: change a job in the user's editor."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile

import click

from duecourse.cli.commands.options import api_options, connected
from duecourse.cli.manifests.difference import JOB_FIELDS, WORKFLOW_FIELDS, alike, differences, only
from duecourse.cli.manifests.documents import FaultsError, Manifest, manifests
from duecourse.cli.manifests.exported import one
from duecourse.cli.manifests.plan import Action, Step, carry_out, patient, told
from duecourse.cli.manifests.yaml_text import to_yaml
from duecourse.cli.terminal import CliError, Command, plain, say
from duecourse.client import ApiError, Client, InvalidError, PreconditionError

HEAD = "# Save and close to change it. Lines that start with # are ignored; an unchanged file changes nothing.\n"
MARK = "# rejected: "
_LINE = re.compile(r"^line:([0-9]+)")


@click.command(cls=Command, example="EDITOR=vim duecourse jobs edit nightly")
@click.argument("job_id", metavar="JOB")
@api_options
def edit(job_id: str, api: str | None, sign: bool | None) -> None:
    """Change a job, or a workflow with its steps, in your editor (VISUAL, EDITOR).

    If the API rejects the change, the file is opened again with the errors; without a terminal, the command ends with
    the errors. If another caller changed the job in the
    meantime, nothing is written.
    """
    with connected(api, sign) as client:
        job = patient(partial(client.get_job, job_id))
        if job.workflow is not None:
            click.echo(f"{job_id} is a step of {job.workflow}", err=True)
        is_workflow = job.target.get("type") == "workflow"
        etag = patient(partial(client.get_workflow, job_id)).etag if is_workflow else job.etag
        if etag != job.etag:
            raise CliError(plain(f"another request changed {job_id} at the same time; run the command again"))
        text = HEAD + to_yaml([one(client, job)])
        manifest = _edited(client, Step(Action.CHANGE, job_id, is_workflow, etag=etag), text)
        if manifest is None:
            say("nothing has changed")
            return
        fields = WORKFLOW_FIELDS if is_workflow else JOB_FIELDS
        after = client.get_workflow(job_id) if is_workflow else client.get_job(job_id)
    say(f"{job_id} changed")
    for each in differences(only(job.document, fields), only(after.document, fields)):
        if each.field != "jobs":
            say(f"    {each}")


def _edited(client: Client, step: Step, text: str) -> Manifest | None:
    """Let the user edit the document until the API accepts it. Return the last manifest, or None if nothing was
    changed. Raises CliError.
    """
    (before,), offered = manifests(text, step.id), text
    while True:
        answer = _in_editor(offered)
        if answer is None or answer == offered:
            if offered != text:
                raise CliError(f"nothing was changed; your text is saved in {_kept(step.id, offered)}")
            return None
        bare = "".join(line for line in answer.splitlines(keepends=True) if not line.startswith(MARK))
        try:
            manifest = _one_of(bare, step)
            if alike(manifest.body, before.body):
                return None
            carry_out(client, Step(step.action, step.id, step.is_workflow, manifest, step.etag))
        except FaultsError as error:
            offered = _refused(step.id, error.faults, bare)
        except InvalidError as error:
            offered = _refused(step.id, told(manifest, error), bare)
        except PreconditionError as error:
            where = _kept(step.id, bare)
            raise CliError(
                f"{step.id} was changed by another caller in the meantime; nothing was written. Your text is saved "
                f"in {where}; compare it with duecourse apply --dry-run -f {where}"
            ) from error
        except ApiError as error:
            raise CliError(f"{plain(str(error))}; your text is saved in {_kept(step.id, bare)}") from error
        else:
            return manifest


def _one_of(text: str, step: Step) -> Manifest:
    """Return the document of this job. Raises FaultsError if there is another document."""
    found = manifests(text, "line")
    if [(each.id, each.is_workflow) for each in found] != [(step.id, step.is_workflow)]:
        raise FaultsError([f"the file must contain only the {step.kind} {step.id}; do not change the id"])
    return found[0]


def _refused(job_id: str, faults: Sequence[str], text: str) -> str:
    """Return the text with the faults above it. The line numbers in the faults are adjusted. Raises CliError without a
    terminal, because a program that edits the file would repeat its error.
    """
    if not sys.stdin.isatty():
        lines = "\n".join(f"    {plain(fault)}" for fault in faults)
        remedy = "correct it, and use duecourse apply -f"
        raise CliError(f"the change was rejected:\n{lines}\nnothing was changed; {remedy} {_kept(job_id, text)}")
    moved = (_LINE.sub(lambda found: f"line {int(found[1]) + len(faults)}", fault) for fault in faults)
    return "".join(f"{MARK}{plain(fault)}\n" for fault in moved) + text


def _in_editor(text: str) -> str | None:
    try:
        return click.edit(text, extension=".yaml")
    except click.ClickException as error:
        raise CliError(f"the editor failed: {error.format_message()}; set EDITOR to your editor") from error


def _kept(job_id: str, text: str) -> Path:
    """Write the text to a file that only the user can read, and return its path."""
    with NamedTemporaryFile("w", encoding="utf-8", prefix=f"{job_id}-", suffix=".yaml", delete=False) as file:
        file.write(text)
    return Path(file.name)

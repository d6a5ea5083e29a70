"""`duecourse jobs export`: write the stored jobs as files that `duecourse apply` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from duecourse.cli.commands.options import api_options, connected
from duecourse.cli.manifests.exported import exported
from duecourse.cli.manifests.plan import every_job, patient
from duecourse.cli.manifests.yaml_text import to_yaml
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import schedule_text
from duecourse.cli.progress import awaited
from duecourse.cli.terminal import CliError, Command, UsageError, escaped, form, outputs, plain, say

EXAMPLE = """\
duecourse jobs export > jobs.yaml
duecourse jobs export --tag billing --dir jobs/       # one file for each job
duecourse jobs export nightly etl -o json"""


@click.command(cls=Command, example=EXAMPLE)
@click.argument("job_ids", nargs=-1, metavar="[JOB]...")
@click.option("--tag", help="Jobs with this tag.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Write one file for each job to this folder, as YAML or JSON.",
)
@outputs("wide", "name", default="yaml")
@api_options
def export(
    job_ids: Sequence[str],
    tag: str | None,
    output: str,
    folder: Path | None,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Write jobs and workflows in the format of `duecourse apply`: all of them, those with a tag, or those with the
    given ids.

    The steps of a workflow are written in its document. Fields with default values are omitted.
    """
    if job_ids and tag:
        raise UsageError("JOB and --tag cannot be combined; use one of them")
    if folder is not None and not as_json:
        raise UsageError("--dir writes files; use -o yaml or -o json")
    with connected(api, sign) as client, awaited("reading the jobs …"):
        if job_ids:
            jobs = [patient(partial(client.get_job, each)) for each in dict.fromkeys(job_ids)]
        else:
            jobs = list(every_job(client, tag))
            if tag is not None and not jobs:
                raise CliError(plain(f"no job has the tag {tag}; check the jobs with duecourse jobs list"))
        documents = exported(client, jobs)
    if folder is not None:
        written(documents, folder, form() or output)
        say(f"{len(documents)} files are in {folder}")
    elif as_json:
        click.echo(text(documents, form() or output), nl=False)
    elif output == "name":
        for document in documents:
            say(name_of(document))
    else:
        print_table(
            ("document", "kind", "schedule", "steps"),
            [
                (
                    name_of(each),
                    "job" if "id" in each else "workflow",
                    schedule_text(each.get("schedule")),
                    _steps(each),
                )
                for each in documents
            ],
        )


def _steps(document: Mapping[str, Any]) -> str:
    return ", ".join(document.get("jobs", ()))


def name_of(document: Mapping[str, Any]) -> str:
    """Return the id of a job or a workflow in its document."""
    return str(document.get("id") or document["workflow"])


def written(documents: Sequence[Mapping[str, Any]], folder: Path, kind: str) -> None:
    """Write one file for each document. Raises CliError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for document in documents:
            (folder / f"{name_of(document)}.{kind}").write_text(text([document], kind), encoding="utf-8")
    except OSError as error:
        raise CliError(plain(f"{error.filename}: {error.strerror}")) from error


def text(documents: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Return the documents as YAML or JSON. The JSON of a single document is an object, not a list."""
    if kind == "yaml":
        return to_yaml(documents) if documents else ""
    found = documents[0] if len(documents) == 1 else documents
    return escaped(json.dumps(found, indent=2, ensure_ascii=False)) + "\n"

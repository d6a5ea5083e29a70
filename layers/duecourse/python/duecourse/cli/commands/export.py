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
from duecourse.cli.terminal import CliError, Command, UsageError, escaped, plain, say

EXAMPLE = """\
duecourse jobs export > jobs.yaml
duecourse jobs export --tag billing --dir jobs/       # one file for each job
duecourse jobs export nightly etl -o json"""


@click.command(cls=Command, example=EXAMPLE)
@click.argument("job_ids", nargs=-1, metavar="[JOB]...")
@click.option("--tag", help="Jobs with this tag.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Write one file for each job to this folder.")
@api_options
def export(
    job_ids: Sequence[str], tag: str | None, output: str, folder: Path | None, api: str | None, sign: bool | None
) -> None:
    """Write jobs and workflows in the format of `duecourse apply`: all of them, those with a tag, or those with the
    given ids.

    The steps of a workflow are written in its document. Fields with default values are omitted.
    """
    if job_ids and tag:
        raise UsageError("no jobs are selected; add job ids, or use --tag")
    with connected(api, sign) as client:
        if job_ids:
            jobs = [patient(partial(client.get_job, each)) for each in dict.fromkeys(job_ids)]
        else:
            jobs = list(every_job(client, tag))
            if tag is not None and not jobs:
                raise CliError(plain(f"no job has the tag {tag}; check the jobs with duecourse jobs list"))
        documents = exported(client, jobs)
    if folder is None:
        click.echo(text(documents, output), nl=False)
        return
    written(documents, folder, output)
    say(f"{len(documents)} files are in {folder}")


def written(documents: Sequence[Mapping[str, Any]], folder: Path, form: str) -> None:
    """Write one file for each document. Raises CliError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for document in documents:
            name = document.get("id") or document["workflow"]
            (folder / f"{name}.{form}").write_text(text([document], form), encoding="utf-8")
    except OSError as error:
        raise CliError(plain(f"{error.filename}: {error.strerror}")) from error


def text(documents: Sequence[Mapping[str, Any]], form: str) -> str:
    """Return the documents as YAML or JSON. The JSON of a single document is an object, not a list."""
    if form == "yaml":
        return to_yaml(documents) if documents else ""
    found = documents[0] if len(documents) == 1 else documents
    return escaped(json.dumps(found, indent=2, ensure_ascii=False)) + "\n"

"""`duecourse import`: convert other schedulers' files to documents for `duecourse apply`, and report each entry."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from pwd import getpwall
from typing import Any, TypeVar

import click

from duecourse.cli.commands.export import text
from duecourse.cli.imports.aws_schedules import Place
from duecourse.cli.imports.celery import read_beat
from duecourse.cli.imports.crontab import is_system, read_crontab
from duecourse.cli.imports.entry import LEFT_OUT, Entry, Names, NotReadableError, Runner, commands_of, counted
from duecourse.cli.imports.eventbridge import of_schedules, read_schedules
from duecourse.cli.imports.folder import Folder, appended, write
from duecourse.cli.imports.kubernetes import read_cronjobs
from duecourse.cli.imports.shadow import shadowed
from duecourse.cli.imports.systemd import read_timers
from duecourse.cli.output.documents import Imported, ImportedEntry
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import CliError, Command, Group, UsageError, plain, read_text

F = TypeVar("F", bound=Callable[..., Any])

EXAMPLE = """\
duecourse import crontab my.crontab --queue duecourse-target-cron \\
  --timezone Europe/Berlin -o jobs/
duecourse apply -f jobs/ --dry-run
duecourse import kubernetes cronjobs.yaml --queue duecourse-target-cron --shadow"""

file_argument = click.argument("file")
zone_option = click.option(
    "--timezone", metavar="ZONE", help="The time zone of the source machine, for entries without a zone."
)


def _options(command: F) -> F:
    """Add the options for the runner of the commands, the destination of the documents, and the report."""
    for option in reversed(
        (
            click.option("--queue", metavar="NAME", help="Send commands to this queue, for duecourse work --shell."),
            click.option(
                "--target-url", metavar="URL", help="Call this address instead; {id} is replaced by the job's id."
            ),
            click.option("--prefix", default="", metavar="TEXT", help="The prefix of the ids."),
            click.option("-o", "--dir", "folder", type=click.Path(path_type=Path), help="Write one file for each job."),
            click.option(
                "--allow-file",
                "allow",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Add the commands to this file, for duecourse work --allow.",
            ),
            click.option(
                "--shadow",
                is_flag=True,
                help="The jobs call nothing, and compare their occurrences with pings of the old scheduler, until "
                "duecourse shadow promote.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        )
    ):
        command = option(command)
    return command


@click.group("import", cls=Group, example=EXAMPLE)
def import_() -> None:
    """Import jobs from a crontab or another scheduler.

    The documents are written to standard output, or with -o to a folder, in the format of `duecourse apply`. Standard
    error has a line for each entry, with the parts that cannot be imported and the reason. The exit code is 3 if an
    entry was not imported. The command does not send requests to a stage.
    """


@import_.command(cls=Command, example="duecourse import crontab /etc/crontab --queue duecourse-target-cron")
@file_argument
@zone_option
@click.option("--system/--user", default=None, help="The lines have a user before the command, as in /etc/crontab.")
@_options
def crontab(file: str, timezone: str | None, system: bool | None, **given: Any) -> None:
    """Import a crontab: the output of `crontab -l`, /etc/crontab, or a file in /etc/cron.d."""
    wanted = _Wanted.of(given, "crontab", file)
    if timezone is None:
        click.echo(
            "no time zone is given: lines above a CRON_TZ are read in UTC; set --timezone to the zone of the source "
            "machine",
            err=True,
        )
    wanted.done(
        lambda: read_crontab(
            read_text(file),
            file=file,
            runner=wanted.runner(),
            names=wanted.names,
            zone=timezone or "UTC",
            system=is_system(file) if system is None else system,
            now=time.time(),
            users=frozenset(each.pw_name for each in getpwall()),
        )
    )


@import_.command(
    cls=Command, example="kubectl get cronjobs -A -o yaml | duecourse import kubernetes - --queue duecourse-target-cron"
)
@file_argument
@zone_option
@_options
def kubernetes(file: str, timezone: str | None, **given: Any) -> None:
    """Import Kubernetes CronJobs (YAML or JSON). The imported jobs create Kubernetes jobs with kubectl."""
    wanted = _Wanted.of(given, "kubernetes", file)
    more: dict[str, Any] = {"runner": wanted.runner(), "names": wanted.names, "now": time.time()}
    wanted.done(lambda: read_cronjobs(read_text(file), file=file, zone=timezone or "UTC", **more))


@import_.command(
    cls=Command,
    example="systemctl cat '*.timer' '*.service' | duecourse import systemd - --queue duecourse-target-cron",
)
@file_argument
@zone_option
@_options
def systemd(file: str, timezone: str | None, **given: Any) -> None:
    """Import systemd timers with the commands of their services: a .timer file with the service beside it, a folder of
    units, or the output of `systemctl cat`.
    """
    wanted = _Wanted.of(given, "systemd", file)
    if timezone is None:
        click.echo("no time zone is given: times without one are read in UTC; set --timezone", err=True)
    more: dict[str, Any] = {"runner": wanted.runner(), "names": wanted.names, "now": time.time()}
    wanted.done(lambda: read_timers(_units(file), file=file, zone=timezone or "UTC", **more))


def _units(file: str) -> str:
    """Return a timer with its service, or the units of a folder, with their drop-ins, as `systemctl cat` does."""
    path = Path(file)
    if path.is_dir():
        units = sorted([*path.glob("*.timer"), *path.glob("*.service")])
    elif path.suffix == ".timer":
        services = [f"{path.stem}.service", *re.findall(r"^\s*Unit\s*=\s*([^\s/]+)", read_text(file), re.MULTILINE)]
        units = [path, *(each for name in dict.fromkeys(services) if (each := path.with_name(name)).is_file())]
    else:
        return read_text(file)
    parts = [each for unit in units for each in (unit, *sorted(unit.with_name(f"{unit.name}.d").glob("*.conf")))]
    return "".join(f"# {part.resolve()}\n{read_text(str(part), may_be_empty=True)}\n" for part in parts)


@import_.command(
    cls=Command, example="duecourse import celery celeryconfig.py --app shop --queue duecourse-target-celery"
)
@file_argument
@zone_option
@click.option("--app", metavar="NAME", help="The application, as in `celery -A`.")
@_options
def celery(file: str, timezone: str | None, app: str | None, **given: Any) -> None:
    """Import Celery's beat_schedule from JSON, or from a Python file, which is parsed but not executed.

    With --queue the command of a job is `celery call`; with --target-url the payload has task, args and kwargs.
    """
    wanted = _Wanted.of(given, "celery", file)
    more: dict[str, Any] = {"runner": wanted.runner(), "names": wanted.names, "now": time.time()}
    wanted.done(lambda: read_beat(read_text(file), file=file, zone=timezone, app=app, **more))


@import_.command(cls=Command, example="duecourse import eventbridge --group default -o jobs/")
@click.argument("file", required=False)
@click.option("--group", metavar="NAME", help="Only schedules of this group. Ignored with FILE.")
@click.option("--rules", is_flag=True, help="Scheduled rules instead of schedules. Ignored with FILE.")
@click.option(
    "--account", default="", metavar="ID", help="The AWS account of the stage.  [default: from the schedules]"
)
@click.option(
    "--region", default="", metavar="NAME", help="The AWS region of the stage.  [default: from the schedules]"
)
@_options
def eventbridge(file: str | None, group: str | None, rules: bool, account: str, region: str, **given: Any) -> None:
    """Import EventBridge Scheduler schedules and scheduled EventBridge rules. Without FILE, the schedules (with
    --rules, the rules) are read from the account.

    FILE is JSON: the output of `aws scheduler get-schedule`, `aws events list-rules` with the Targets of each rule, a
    CloudFormation template, or the output of `terraform show -json`.

    Targets in the account and region of the stage are imported. For other targets, and those that Duecourse does not
    support, such as aliases and versions, use --queue or --target-url.
    """
    wanted = _Wanted.of(given, "eventbridge", file)
    stage = Place(account, region)
    if not (account and region):
        click.echo(
            "the stage is assumed to be in the account and region of the schedules; if it is not, set --account and "
            "--region",
            err=True,
        )
    runner = wanted.runner(needed=False)
    more: dict[str, Any] = {"runner": runner, "names": wanted.names, "now": time.time(), "stage": stage}
    if file is not None:
        wanted.done(lambda: read_schedules(read_text(file), file=file, **more))
    else:
        found = _rules_of_account() if rules else _of_account(group)
        wanted.done(lambda: of_schedules(found, file="rule" if rules else "schedule", **more))


def _rules_of_account() -> Iterator[Any]:
    """Yield every scheduled rule of the environment's AWS account and region, with its targets. Raises CliError."""
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.client.aws_session import own_session

    try:
        with closing(own_session().create_client("events")) as events:
            for page in events.get_paginator("list_rules").paginate():
                for rule in page["Rules"]:
                    if rule.get("ScheduleExpression"):
                        pages = events.get_paginator("list_targets_by_rule").paginate(Rule=rule["Name"])
                        yield {**rule, "Targets": [target for each in pages for target in each["Targets"]]}
    except (BotoCoreError, ClientError) as error:
        raise CliError(plain(f"EventBridge cannot be reached: {error}")) from error


def _of_account(group: str | None) -> Iterator[Any]:
    """Yield every schedule of the environment's AWS account and region. Raises CliError."""
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.client.aws_session import own_session

    try:
        with closing(own_session().create_client("scheduler")) as scheduler:
            pages = scheduler.get_paginator("list_schedules").paginate(**({"GroupName": group} if group else {}))
            for page in pages:
                for each in page["Schedules"]:
                    yield scheduler.get_schedule(GroupName=each["GroupName"], Name=each["Name"])
    except (BotoCoreError, ClientError) as error:
        raise CliError(plain(f"EventBridge Scheduler cannot be reached: {error}")) from error


class _Wanted:
    """The values of the shared options."""

    def __init__(
        self,
        kind: str,
        file: str | None,
        queue: str | None,
        target_url: str | None,
        prefix: str,
        folder: Path | None,
        allow: Path | None,
        *,
        shadow: bool,
        as_json: bool,
    ) -> None:
        self._shadow, self._kind = shadow, kind
        self._runner = Runner(queue, target_url)
        kind = f"{kind} --prefix={prefix}" if prefix else kind
        self._folder = None if folder is None else Folder.of(folder, kind, None if file == "-" else file)
        if self._folder is None:
            self.names = Names(prefix, f"{kind} {file}")
        else:
            self.names = Names(prefix, self._folder.mark, self._folder.foreign)
        self._allow = allow
        self._as_json = as_json

    @classmethod
    def of(cls, given: dict[str, Any], kind: str, file: str | None) -> _Wanted:
        """Create the instance from the options' values. `kind` and `file` are the source."""
        return cls(kind, file, **given)

    def runner(self, *, needed: bool = True) -> Runner:
        """Return the runner of the commands. Raises UsageError."""
        if self._runner.queue and self._runner.url:
            raise UsageError("--queue and --target-url cannot be combined; use one of them")
        if needed and not (self._runner.queue or self._runner.url):
            raise UsageError(
                "the imported commands need a target; use --queue NAME (a queue for duecourse work --shell), "
                "or --target-url URL"
            )
        return self._runner

    def done(self, read: Callable[[], Sequence[Entry]]) -> None:
        """Print or write the documents, and the report. Raises CliError."""
        try:
            entries = read()
        except NotReadableError as error:
            raise CliError(plain(str(error))) from error
        if self._shadow:
            entries = [shadowed(entry, self._kind) for entry in entries]
        jobs = [entry.job for entry in entries if entry.job is not None]
        texts = {} if self._folder is None else self._folder.texts(jobs)
        if self._allow is not None:
            texts[self._allow] = appended(self._allow, commands_of(entries))
        write(texts)
        if self._folder is not None and (others := self._folder.left(job["id"] for job in jobs)):
            names = ", ".join(others[:10]) + (", ..." if len(others) > 10 else "")
            remedy = "delete those whose entries no longer exist; apply --prune then deletes their jobs"
            click.echo(
                plain(f"{self._folder.path} has files that this import did not write: {names}; {remedy}"), err=True
            )
        made, left = counted(entries)
        if self._as_json:
            print_json(Imported(items=[_item(entry) for entry in entries], next_cursor=None))
        else:
            _report(entries)
            click.echo(f"{made} jobs, {left} not imported", err=True)
            if self._folder is None:
                click.echo(text(jobs, "yaml"), nl=False)
        if left:
            raise SystemExit(LEFT_OUT)


def _report(entries: Sequence[Entry]) -> None:
    for entry in entries:
        click.echo(plain(f"{entry.place}  {entry.text}"), err=True)
        none = "ignored" if entry.setting else "no job"
        what = none if entry.job is None else f"job {entry.job['id']}: {entry.job['schedule']}"
        click.echo(plain(f"    {what}"), err=True)
        for note in entry.notes:
            click.echo(plain(f"    {note}"), err=True)


def _item(entry: Entry) -> ImportedEntry:
    return {"place": entry.place, "text": entry.text, "job": entry.job, "notes": list(entry.notes)}

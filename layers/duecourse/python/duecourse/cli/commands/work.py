"""`duecourse work`: process runs on this machine."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from pathlib import Path

import click

from duecourse.cli.shell import Shell, read_allowed
from duecourse.cli.terminal import CliError, Command, UsageError, plain, read_text, say

EXAMPLE = """\
duecourse work --shell --queue duecourse-target-cron --allow commands.txt

# where jobs and commands.txt come from a crontab
duecourse import crontab my.crontab --queue duecourse-target-cron -o jobs/ --allow-file commands.txt
duecourse apply -f jobs/"""


@click.command(cls=Command, example=EXAMPLE)
@click.option("--shell", is_flag=True, help='Run the command in the payload: {"command": "..."}.')
@click.option("--queue", required=True, metavar="NAME", help="The queue of the jobs' target; a name or a URL.")
@click.option("--allow", metavar="FILE", help="Run only the commands in this file, one per line.")
@click.option(
    "--allow-any",
    is_flag=True,
    help="Run any command. Every caller who can write jobs can then run commands on this machine.",
)
@click.option(
    "--concurrency", type=click.IntRange(1, 100), default=10, show_default=True, help="The number of parallel commands."
)
@click.option("--timeout", type=click.FloatRange(1), metavar="SECONDS", help="The maximum time of a command.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The working directory of the commands.",
)
@click.option(
    "--name", metavar="NAME", help="The name in the runs and in the list of workers; empty: none.  [default: host name]"
)
@click.option("--once", is_flag=True, help="Process the messages that are in the queue now, then stop.")
@click.option("--api", envvar="DUECOURSE_API", metavar="URL", help="Address of the API.  [env: DUECOURSE_API]")
def work(
    shell: bool,
    queue: str,
    allow: str | None,
    allow_any: bool,
    concurrency: int,
    timeout: float | None,
    folder: Path | None,
    name: str | None,
    once: bool,
    api: str | None,
) -> None:
    """Process runs on this machine: run the command of each run (--shell).

    Jobs need a target of type sqs with this queue, `completion: callback` and `heartbeat_seconds`. Exit code 0
    completes the run; any other exit code fails it with this code (exit.2) and the end of the output. A command is
    stopped when its run is cancelled, its lease has expired, or --timeout has passed. A command has the environment of
    the worker. Of the variables that start with DUECOURSE_ it has only DUECOURSE_API and the variables of the run:
    DUECOURSE_RUN_ID, DUECOURSE_JOB_ID, DUECOURSE_ATTEMPT, DUECOURSE_SCHEDULED_AT and DUECOURSE_IDEMPOTENCY_KEY.

    Every caller who can write jobs, or send to the queue, controls the commands. Therefore only commands that exactly
    match a line of a file are run (--allow); --allow-any trusts all commands. Run the worker as a user with only the
    permissions that the commands need. It receives messages from AWS with your credentials. SIGTERM or Ctrl-C stops it;
    running commands then have one minute to end.
    """
    if not shell:
        raise UsageError("no action is set; use --shell to run the command in each payload")
    if (allow is None) is not allow_any:
        raise UsageError("no commands are allowed; use --allow FILE, or --allow-any to allow every command")
    if not api:
        raise UsageError("no API address is configured; use --api URL or set DUECOURSE_API")
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.worker import Worker
    from duecourse.worker.report import WorkerName

    try:
        WorkerName(name)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
    try:
        allowed = None if allow is None else read_allowed(read_text(allow))
    except ValueError as error:
        raise UsageError(plain(f"{allow}: {error}")) from error
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for library in ("httpx", "botocore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    commands = Shell(allowed, timeout, None if folder is None else str(folder), dict(os.environ))
    try:
        with closing(Worker(queue, api, concurrency=concurrency, name=name)) as worker:
            worker.task(commands.work)
            if once:
                say(f"{worker.run_once()} messages were processed")
            else:
                worker.run()
    except (BotoCoreError, ClientError) as error:
        raise CliError(plain(remedy(error, queue, os.environ.get("AWS_ENDPOINT_URL")))) from error
    finally:
        commands.end_all()


def remedy(error: Exception, queue: str, endpoint: str | None) -> str:
    """Return the message for an error of a queue; for a queue that does not exist, with the command that creates it.
    `endpoint` is that of a local stack.
    """
    from botocore.exceptions import ClientError

    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    if code.rpartition(".")[2] not in ("NonExistentQueue", "QueueDoesNotExist"):
        return f"the queue cannot be reached: {error}"
    # Version 1 of the AWS CLI ignores AWS_ENDPOINT_URL for SQS.
    place = f" --endpoint-url {endpoint}" if endpoint else ""
    return f"the queue {queue} does not exist; create it: aws sqs create-queue --queue-name {queue}{place}"

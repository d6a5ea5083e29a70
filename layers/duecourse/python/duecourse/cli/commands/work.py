"""`duecourse work`: runs that a machine of one's own does."""

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
@click.option("--shell", is_flag=True, help='Run the command of the payload: {"command": "..."}.')
@click.option("--queue", required=True, metavar="NAME", help="The queue that the jobs send to; a name or a URL.")
@click.option("--allow", metavar="FILE", help="Run the commands in this file only, a line each.")
@click.option(
    "--allow-any", is_flag=True, help="Run any command: whoever may write jobs runs commands on this machine."
)
@click.option("--concurrency", type=click.IntRange(1, 100), default=10, show_default=True, help="How many at a time.")
@click.option("--timeout", type=click.FloatRange(1), metavar="SECONDS", help="End a command that takes longer.")
@click.option("--dir", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where they run.")
@click.option("--once", is_flag=True, help="Work on what is in the queue now, then end.")
@click.option("--api", envvar="DUECOURSE_API", metavar="URL", help="Address of the API.  [env: DUECOURSE_API]")
def work(
    shell: bool,
    queue: str,
    allow: str | None,
    allow_any: bool,
    concurrency: int,
    timeout: float | None,
    folder: Path | None,
    once: bool,
    api: str | None,
) -> None:
    """Work on runs on this machine: run the command of each (--shell).

    Jobs need a target of type sqs with this queue, `completion: callback` and `heartbeat_seconds`. Exit code 0
    completes the run; any other fails it with its code (exit.2) and the end of the output. A command is ended when its
    run is cancelled, its time is over, or --timeout has passed. Its environment is the worker's: of the variables that
    begin with DUECOURSE_ it has only DUECOURSE_API, and those of the run: DUECOURSE_RUN_ID, DUECOURSE_JOB_ID,
    DUECOURSE_ATTEMPT, DUECOURSE_SCHEDULED_AT and DUECOURSE_IDEMPOTENCY_KEY.

    Commands come from jobs, and whoever may write jobs, or send to the queue, says what they are. So only those in a
    file are run (--allow), letter by letter; --allow-any trusts all of them. Run it as a user who may do no more than
    the commands need. It asks AWS for messages with your credentials. It stops by SIGTERM or Ctrl-C; commands that run
    then have a minute to end.
    """
    if not shell:
        raise UsageError("say what to do with the runs: --shell runs the command of each payload")
    if (allow is None) is not allow_any:
        raise UsageError("say which commands may run: --allow FILE, or --allow-any for all that jobs name")
    if not api:
        raise UsageError("no API address: give --api URL or set DUECOURSE_API")
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.worker import Worker

    try:
        allowed = None if allow is None else read_allowed(read_text(allow))
    except ValueError as error:
        raise UsageError(plain(f"{allow}: {error}")) from error
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    commands = Shell(allowed, timeout, None if folder is None else str(folder), dict(os.environ))
    try:
        with closing(Worker(queue, api, concurrency=concurrency)) as worker:
            worker.task(commands.work)
            if once:
                say(f"{worker.run_once()} messages are worked on")
            else:
                worker.run()
    except (BotoCoreError, ClientError) as error:
        raise CliError(plain(f"the queue does not answer: {error}")) from error
    finally:
        commands.end_all()

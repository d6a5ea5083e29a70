"""`duecourse simulate`: simulates a stage under its forecast, and recommends settings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.commands.upcoming import MOST_HOURS, counted
from duecourse.cli.local.project import find_root
from duecourse.cli.output.documents import Simulation
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import CliError, Command, say
from duecourse.cli.when import moment

BURST_HOURS = 24


@click.command(cls=Command, example="duecourse simulate --stage prod --burst 100000")
@click.option("--stage", default="prod", show_default=True, envvar="DUECOURSE_STAGE", help="The stage.")
@click.option(
    "--hours",
    type=click.FloatRange(1, MOST_HOURS),
    default=24,
    show_default=True,
    help="The length of the forecast, in hours.",
)
@click.option(
    "--times", type=click.FloatRange(0.01, 1_000), default=1, help="Multiply the forecast by this number.  [default: 1]"
)
@click.option(
    "--burst",
    type=click.IntRange(1, 1_000_000),
    help="Instead of the forecast, simulate N runs a day, all due in the same second.",
)
@click.option(
    "--lane",
    type=click.Choice(("high", "normal", "low", "long")),
    default="normal",
    show_default=True,
    help="The lane of the runs.",
)
@click.option(
    "--within",
    type=click.FloatRange(1, 3600),
    default=10,
    show_default=True,
    help="The seconds within which 99 of 100 runs should start.",
)
@click.option(
    "--call-seconds",
    type=click.FloatRange(0.01, 840),
    default=0.5,
    show_default=True,
    help="The time that a target takes to respond.",
)
@answer_options
def simulate(
    stage: str,
    hours: float,
    times: float,
    burst: int | None,
    lane: str,
    within: float,
    call_seconds: float,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Simulate a stage under its forecast, and recommend settings.

    The command runs the burst and cost models of a checkout with the stage's settings (settings/STAGE.json) and the
    tenant's upcoming runs (GET /v1/upcoming). It assumes that all runs of the busiest minute are due in the
    same second, belong to one tenant and use the lane's bulk queue. It changes nothing. The exit code is 1 if no
    settings are sufficient.
    """
    root, busiest_at = find_root(Path.cwd()), None
    if burst is not None:
        runs, busiest, hours = burst, burst, float(BURST_HOURS)
    else:
        begin = datetime.now(UTC).replace(second=0, microsecond=0)
        with connected(api, sign) as client:
            load = counted(client, begin, begin + timedelta(hours=hours), 60)
        runs = round(load.runs.total() * times)
        busiest_at, most = load.runs.most_common(1)[0] if load.runs else (None, 0)
        busiest = round(most * times)
    question = {
        "stage": stage,
        "lane": lane,
        "within_seconds": within,
        "call_seconds": call_seconds,
        "runs": runs,
        "hours": hours,
        "busiest": busiest,
    }
    answer = _answer(root, question)
    answer["busiest_at"] = None if busiest_at is None else moment(busiest_at).replace(" ", "T")
    print_json(answer) if as_json else _show(answer)
    raise SystemExit(0 if answer["met"] else 1)


def _answer(root: Path, question: dict[str, Any]) -> Simulation:
    """Return the document of the checkout's models. Raises CliError."""
    own = root / ".venv" / "bin" / "python"
    python = own if own.is_file() else Path(sys.executable)
    done = subprocess.run(
        [python, "-m", "scripts.simulate"],
        cwd=root,
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CliError((done.stderr.strip().splitlines() or ["the simulation failed; run `make setup`"])[-1])
    found: Simulation = json.loads(done.stdout)
    return found


def _show(answer: Simulation) -> None:
    when = "" if answer["busiest_at"] is None else f" ({answer['busiest_at']})"
    say(f"stage {answer['stage']}: {answer['runs_of_month']:,} runs a month")
    say(f"busiest minute{when}: {answer['busiest_runs']:,} runs, simulated as due in one second")
    columns = {"now": answer["now"], "recommended": answer["recommended"]}
    shown = {name: each for name, each in columns.items() if each is not None}
    rows = [(label, *(_cell(each, field) for each in shown.values())) for field, label in _LINES.items()]
    print_table(("", *shown), rows, wide=True)
    for name, each in shown.items():
        in_time = each["last_enqueued_seconds"] is not None and each["last_enqueued_seconds"] <= 0
        limit = each["starts_limited_by" if in_time else "enqueuing_limited_by"]
        if limit is not None:
            say(f"limit {name}: {limit}")
    if answer["settings"] is not None:
        say(f"change settings/{answer['stage']}.json; for pollers, see docs/sizing.md:")
        click.echo(json.dumps(answer["settings"], indent=2))
    if not answer["met"]:
        say(f"none of the simulated settings starts 99 of 100 runs within {answer['within_seconds']:g} s")
    elif answer["settings"] is None:
        say("the settings are sufficient")


_LINES = {
    "last_enqueued_seconds": "last run enqueued",
    "p50_seconds": "half of the runs started",
    "p99_seconds": "99 of 100 runs started",
    "idle": "idle, a month",
    "pollers": "pollers, a month",
    "runs": "runs, a month",
    "total": "total, a month",
}


def _cell(outcome: Mapping[str, Any], field: str) -> str:
    if field in outcome["month_usd"]:
        return f"${outcome['month_usd'][field]:,.2f}"
    value = outcome[field]
    return "-" if value is None else f"{value:+,.1f} s" if isinstance(value, float | int) else str(value)

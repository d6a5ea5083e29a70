"""Run disaster drills on a local stack, and report the duration and the losses of each.

    python -m scripts.drill [--json] [NAME ...]

Without names, all drills run (over an hour). The exit code is 1 if a drill loses an occurrence, a command of a
page fails, or `duecourse doctor` finds the stage unhealthy after a drill. Needs bash, jq and the AWS command line, as
the pages do.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.receiver import CallLog, Receiver
from duecourse.cli.local.project import Project, find_project
from duecourse.cli.terminal import CliError
from duecourse.client.errors import ApiError, ApiUnreachableError
from scripts.drill.drills import DRILLS, Drill, Other
from scripts.drill.stage import DrillStage, Outcome, drill_stage

TOOLS = ("bash", "aws", "jq")


def main(arguments: list[str]) -> int:
    """Run the drills, print the report, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make drill", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a drill; without a name, all drills run")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    known = [each.name for each in DRILLS]
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"there is no drill {unknown[0]}; the drills are {', '.join(known)}")
    chosen = [each for each in DRILLS if not given.names or each.name in given.names]
    screen = Screen(Console(stderr=True, highlight=False, soft_wrap=True))
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        screen.line(f"error: the drills need {', '.join(missing)}; install the tools that docs/runbooks.md lists")
        return 1
    try:
        results = play(find_project(Path.cwd()), chosen, screen)
    except CliError as error:
        screen.line(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        screen.line("interrupted")
        return 130
    report(results, as_json=given.json)
    return 0 if all(isinstance(each, Outcome) and not each.lost for _, each in results) else 1


def play(project: Project, chosen: list[Drill], screen: Screen) -> list[tuple[Drill, Outcome | str]]:
    """Run the drills one after another on one stage. The result of a drill that fails is its error; no further drill
    follows, because the stage is damaged, and the files of the stage are kept.
    """
    folder = Path(tempfile.mkdtemp(prefix="duecourse-drill-"))
    log = CallLog()
    results: list[tuple[Drill, Outcome | str]] = []
    try:
        with Receiver(log) as receiver, drill_stage(project, folder / "stage", screen.step, receiver, log) as stage:
            other = Other(project, folder, screen.step, receiver, log)
            stage.start_jobs()
            for drill in chosen:
                screen.step("drill", f"{drill.name}: {drill.about}")
                outcome = _outcome(drill, stage, other)
                results.append((drill, outcome))
                if isinstance(outcome, str):
                    screen.step("failed", outcome)
                    break
                screen.step("done", f"{outcome.seconds:.0f} s, {outcome.lost} lost, {outcome.repeated} repeated")
    finally:
        if len(results) == len(chosen) and all(isinstance(each, Outcome) for _, each in results):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            screen.step("files", f"{folder} is kept; delete it after you have read its logs")
    return results


def _outcome(drill: Drill, stage: DrillStage, other: Other) -> Outcome | str:
    try:
        outcome = drill.play(stage, other)
        stage.check()
    except (CliError, ApiError, ApiUnreachableError, BotoCoreError, ClientError) as error:
        return f"{type(error).__name__}: {error}"
    return outcome


def report(results: list[tuple[Drill, Outcome | str]], *, as_json: bool) -> None:
    """Print a line for each drill."""
    if as_json:
        found = [
            {"drill": drill.name, "page": drill.page, "differs": drill.differs}
            | (asdict(each) if isinstance(each, Outcome) else {"error": each})
            for drill, each in results
        ]
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("DRILL")
    for name in ("SECONDS", "DUE", "RAN", "LOST FIRST", "LOST", "REPEATED", "LATEST"):
        table.add_column(name, justify="right")
    for drill, each in results:
        if isinstance(each, Outcome):
            first = "-" if each.lost_at_first is None else each.lost_at_first
            numbers = (each.occurrences, each.succeeded, first, each.lost, each.repeated)
            table.add_row(drill.name, f"{each.seconds:.0f}", *map(str, numbers), f"{each.latest_seconds:.0f} s")
        else:
            table.add_row(drill.name, "failed")
    console = Console(highlight=False)
    console.print(table)
    for drill, _ in results:
        if drill.differs:
            console.print(f"{drill.name}: {drill.differs}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

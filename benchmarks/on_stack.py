"""The common part of the benchmarks that start the local stack."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from benchmarks.about import about
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.emulator.process import Stopped, stoppable
from duecourse.cli.terminal import CliError
from duecourse.client import ApiError, ApiUnreachableError


def report(
    name: str, measure: Callable[[Screen], dict[str, Any]], budgets: Callable[[Mapping[str, Any]], dict[str, bool]]
) -> int:
    """Run `python -m benchmarks.<name>`: measure, show the progress on stderr, and print the document. Return the exit
    code: 1 if a budget is missed, or if the measurement failed.
    """
    screen = Screen(Console(stderr=True, highlight=False, soft_wrap=True))
    try:
        with stoppable():
            found = measure(screen)
    except Stopped as stopped:
        return stopped.exit_code
    except (CliError, ApiError, ApiUnreachableError) as error:
        print(f"{name}: the measurement failed: {error}", file=sys.stderr)
        return 1
    head, met = about(name, ["ministack"]), budgets(found)
    print(json.dumps({**head, **found, "load_average": os.getloadavg()[0], "budgets": met}, indent=2))
    return 0 if all(met.values()) else 1

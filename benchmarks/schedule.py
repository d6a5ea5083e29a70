"""Compare the rate of next-occurrence calls with croniter (parsed once), croniter-rs, cronsim and croner, in the same
run.

    python -m benchmarks.schedule [--json]

Every implementation does the same work: rows of RUN calls from START, each for the occurrence after the last. Parsing
is not measured, and the best of REPEATS counts. croner is measured in Node, without the start of Node. If
`node_modules/croner` or the package croniter-rs is missing, it is omitted, and the result has a note. croniter-rs is
written in Rust, and does not know changes of clocks: it computes every row in UTC.

Budgets (benchmarks/README.md): at least 10 times croniter on common expressions, faster than each of the others, at
most 40 µs for an expression that is compiled and asked once, and no call above 5 ms.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

try:
    from croniter_rs import croniter as croniter_rs
except ImportError:
    croniter_rs = None

from benchmarks.about import about
from duecourse_schedules import TZDATA_VERSION, ScheduleSpec, compile_schedule
from duecourse_schedules.schedule import forget

START = 1_772_524_800  # 2026-03-03T08:00:00Z: the rows cross a change of summer time
RUN = 100
ROWS = 20
REPEATS = 5
WORST_MILLISECONDS = 5
UNSEEN_MICROSECONDS = 40
UNSEEN_REPEATS = 200
ROOT = Path(__file__).resolve().parent.parent

EXPRESSIONS = [
    ("* * * * *", "UTC"),
    ("*/5 * * * *", "America/New_York"),
    ("0 * * * *", "Europe/Berlin"),
    ("30 2 * * *", "Europe/Berlin"),
    ("0 9 * * 1-5", "America/New_York"),
    ("*/15 9-17 * * 1-5", "Europe/London"),
    ("0 0 1 * *", "UTC"),
    ("0 0 L * *", "Asia/Tokyo"),
    ("0 12 1,15 * 1", "America/New_York"),
    ("0 9 * * MON#1", "Australia/Sydney"),
]

#: Expressions that rarely or never match: (expression, zone, dst_gap, after). The budget is WORST_MILLISECONDS for
#: each.
HARD = [
    ("0 0 29 2 */7", "UTC", "next", 3_729_000_000),
    ("30 2 * 3 SUN#2", "America/New_York", "skip", START),
    ("cron(30 2 ? 3 SUN#2 1970-2199)", "America/New_York", "skip", START),
    ("cron(0 0 1 1 ? 2199)", "Europe/Berlin", "next", 0),
    ("* * * * * *", "Pacific/Apia", "next", 200_000_000_000),
]

_NO_RUST = "croniter-rs left out: not installed (pip install croniter-rs)"

CRONER = """
const {Cron} = require('croner');
const {cases, start, run, rows, repeats} = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const rates = cases.map(([expression, timezone]) => {
  const job = new Cron(expression, {timezone});
  let best = Infinity;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const begin = process.hrtime.bigint();
    for (let row = 0; row < rows; row++) {
      let at = new Date(start * 1000);
      for (let call = 0; call < run; call++) at = job.nextRun(at);
    }
    best = Math.min(best, Number(process.hrtime.bigint() - begin) / 1e9);
  }
  return run * rows / best;
});
console.log(JSON.stringify({version: require('croner/package.json').version, rates}));
"""


def ours(expression: str, timezone: str, rows: int) -> Callable[[], None]:
    """Return the work to time: `rows` rows of RUN calls of the engine."""
    schedule = compile_schedule(ScheduleSpec(expression, timezone))

    def work() -> None:
        for _ in range(rows):
            at: int | None = START
            for _ in range(RUN):
                if at is not None:
                    at = schedule.next(at)

    return work


def croniters(expression: str, timezone: str, rows: int) -> Callable[[], None]:
    """Return the same work with croniter, with one parsed iterator per row."""
    start = datetime.fromtimestamp(START, ZoneInfo(timezone))
    iterators = [croniter(expression, start) for _ in range(rows)]

    def work() -> None:
        for iterator in iterators:
            for _ in range(RUN):
                iterator.get_next(float)

    return work


def croniters_rs(expression: str, _timezone: str, rows: int) -> Callable[[], None]:
    """Return the same work with croniter-rs, in UTC, with one parsed iterator per row."""
    iterators = [croniter_rs(expression, START) for _ in range(rows)]

    def work() -> None:
        for iterator in iterators:
            for _ in range(RUN):
                iterator.get_next(float)

    return work


def cronsims(expression: str, timezone: str, rows: int) -> Callable[[], None]:
    """Return the same work with cronsim, with one parsed iterator per row."""
    start = datetime.fromtimestamp(START, ZoneInfo(timezone))
    iterators = [CronSim(expression, start) for _ in range(rows)]

    def work() -> None:
        for iterator in iterators:
            for _ in range(RUN):
                next(iterator)

    return work


def rate(prepare: Callable[[str, str, int], Callable[[], None]], case: tuple[str, str], rows: int) -> float:
    """Return the calls per second, the best of REPEATS."""
    best = float("inf")
    for _ in range(REPEATS):
        work = prepare(*case, rows)
        begin = perf_counter()
        work()
        best = min(best, perf_counter() - begin)
    return rows * RUN / best


def croner() -> tuple[str | None, list[float | None], str | None]:
    """Return croner's version and calls per second, or a note with the reason why there are none."""
    node = shutil.which("node")
    missing: list[float | None] = [None] * len(EXPRESSIONS)
    if node is None:
        return None, missing, "croner left out: node is not installed"
    if not (ROOT / "node_modules" / "croner").is_dir():
        return None, missing, "croner left out: not in node_modules (npm install --no-save croner)"
    asked = {"cases": EXPRESSIONS, "start": START, "run": RUN, "rows": ROWS, "repeats": REPEATS}
    done = subprocess.run(
        [node, "-e", CRONER],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=300,
    )
    if done.returncode:
        return None, missing, f"croner left out: {done.stderr.strip().splitlines()[-1]}"
    answer = json.loads(done.stdout)
    return answer["version"], answer["rates"], None


def worst() -> list[dict[str, Any]]:
    """Return the milliseconds of a first call, with zone and expression not in a cache, for expressions that rarely or
    never match.
    """
    found = []
    for expression, timezone, gap, after in HARD:
        taken = []
        for _ in range(REPEATS):
            forget()
            begin = perf_counter()
            compile_schedule(ScheduleSpec(expression, timezone, dst_gap=gap)).next(after)
            taken.append((perf_counter() - begin) * 1_000)
        found.append({"expression": expression, "timezone": timezone, "milliseconds": round(min(taken), 3)})
    return found


def unseen() -> list[dict[str, Any]]:
    """Return the microseconds to compile each of EXPRESSIONS and to find its first occurrence, if no field of it was
    seen before. Only its zone is known.
    """
    found = []
    for expression, timezone in EXPRESSIONS:
        taken = []
        for _ in range(UNSEEN_REPEATS):
            forget()
            compile_schedule(ScheduleSpec("7 7 7 7 *", timezone)).next(START)
            begin = perf_counter()
            compile_schedule(ScheduleSpec(expression, timezone)).next(START)
            taken.append((perf_counter() - begin) * 1_000_000)
        found.append({"expression": expression, "timezone": timezone, "microseconds": round(min(taken), 1)})
    return found


def measure() -> dict[str, Any]:
    """Return the complete result, as printed with --json. Rates are calls per second."""
    version_of_croner, croner_rates, note = croner()
    rows: list[dict[str, Any]] = []
    for case, croner_rate in zip(EXPRESSIONS, croner_rates, strict=True):
        rates: dict[str, float | None] = {
            "duecourse": rate(ours, case, ROWS),
            "croniter": rate(croniters, case, 1),
            "croniter-rs": None if croniter_rs is None else rate(croniters_rs, case, ROWS),
            "cronsim": rate(cronsims, case, 2),
            "croner": croner_rate,
        }
        others = [value for name, value in rates.items() if name != "duecourse" and value]
        rows.append(
            {
                "expression": case[0],
                "timezone": case[1],
                "calls_per_second": {name: value and round(value) for name, value in rates.items()},
                "times_croniter": round((rates["duecourse"] or 0) / (rates["croniter"] or 1), 1),
                "fastest": (rates["duecourse"] or 0) > max(others),
            }
        )
    hard, first = worst(), unseen()
    head = about("schedule", ["croniter", "cronsim", *([] if croniter_rs is None else ["croniter-rs"])])
    head["versions"] |= {"tzdata": TZDATA_VERSION, "croner": version_of_croner}
    return {
        **head,
        "notes": [*([note] if note else []), *([_NO_RUST] if croniter_rs is None else [])],
        "expressions": rows,
        "unseen": first,
        "worst": hard,
        "budgets": {
            "ten_times_croniter": all(row["times_croniter"] >= 10 for row in rows),
            "fastest": all(row["fastest"] for row in rows),
            "unseen_within_40_us": all(row["microseconds"] <= UNSEEN_MICROSECONDS for row in first),
            "worst_within_5_ms": all(row["milliseconds"] <= WORST_MILLISECONDS for row in hard),
        },
    }


def table(result: dict[str, Any]) -> str:
    """Return the result as a readable table."""
    names = ["duecourse", "croniter", "croniter-rs", "cronsim", "croner"]
    lines = [f"{'calls per second':38}" + "".join(f"{name:>12}" for name in names) + f"{'x croniter':>12}"]
    for row in result["expressions"]:
        rates = row["calls_per_second"]
        cells = "".join(f"{rates[name]:>12,}" if rates[name] else f"{'-':>12}" for name in names)
        lines.append(f"{row['expression'] + '  ' + row['timezone']:38}{cells}{row['times_croniter']:>12}")
    lines.append("")
    lines += [f"{row['expression']:38}{row['microseconds']:>9} us, first call" for row in result["unseen"]]
    lines.append("")
    lines += [f"{row['expression']:38}{row['milliseconds']:>9} ms, cold ({row['timezone']})" for row in result["worst"]]
    lines += ["", *result["notes"]]
    lines += [f"{'met' if met else 'MISSED':8}{name}" for name, met in result["budgets"].items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedule", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    as_json = parser.parse_args(arguments).json
    result = measure()
    print(json.dumps(result, indent=2) if as_json else table(result))
    return 0 if all(result["budgets"].values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

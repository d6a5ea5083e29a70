"""Compare the cold start of each function with `import boto3` alone.

    python -m benchmarks.cold [--repeats 15] [--json]

Every start is a new interpreter, for boto3 and the functions in turn. Modules are already compiled (.pyc files in a
separate folder, written before the measurement), as in a layer that contains them. `uncompiled` is the same without
.pyc files, as in a layer without them, to which nothing can be written later. Three parts are measured: the import of
the handler, which creates what it calls (settings, stores); the first use of these objects; and the first client
(DynamoDB). The shares of packages beyond boto3 come from `python -X importtime`, whose overhead increases its figures.
Budgets (benchmarks/README.md): dispatch and execute take at most 300 ms more than boto3.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.cold import importtime
from benchmarks.cold.figures import Start, alone, budgets, compared, table
from benchmarks.cold.functions import ENVIRONMENT, FUNCTIONS, Function

ROOT = Path(__file__).resolve().parent.parent.parent
CHILD = Path(__file__).with_name("child.py")
BOTO3 = Function("boto3")
UNCOMPILED_REPEATS = 5
TOP = 8


def main() -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    given = _arguments()
    with TemporaryDirectory(prefix="duecourse-cold-") as name:
        folder = Path(name)
        warm = _environment(folder / "compiled")
        bare = _environment(folder / "none") | {"PYTHONDONTWRITEBYTECODE": "1"}
        for function in (BOTO3, *FUNCTIONS):
            _start(function, warm)
        document = _document(given.repeats, warm, bare)
    if given.json:
        packages = ["boto3", "botocore", "aws-lambda-powertools", "pydantic", "orjson"]
        sizes = {"repeats": given.repeats, "repeats_uncompiled": UNCOMPILED_REPEATS}
        print(json.dumps({**about("cold", packages), **sizes, **document}, indent=2))
    else:
        print(table(document))
    return 0 if all(document["budgets"].values()) else 1


def _document(repeats: int, warm: dict[str, str], bare: dict[str, str]) -> dict[str, Any]:
    compiled, uncompiled = _turns(repeats, warm), _turns(UNCOMPILED_REPEATS, bare)
    base = _imports("import boto3", warm)
    functions = {}
    for each in FUNCTIONS:
        more = importtime.beyond(_imports(f"import functions.{each.name}.handler", warm), base)
        functions[each.name] = {
            **compared(compiled[each.name], compiled["boto3"]),
            "uncompiled": compared(uncompiled[each.name], uncompiled["boto3"]),
            "beyond_boto3_packages": importtime.packages(more, TOP),
            "beyond_boto3_modules": importtime.slowest(more, TOP),
        }
    boto3 = {**alone(compiled["boto3"]), "uncompiled": alone(uncompiled["boto3"])}
    return {"boto3": boto3, "functions": functions, "budgets": budgets(FUNCTIONS, functions)}


def _turns(repeats: int, environment: dict[str, str]) -> dict[str, list[Start]]:
    """Start each function once per turn, boto3 first."""
    taken: dict[str, list[Start]] = {each.name: [] for each in (BOTO3, *FUNCTIONS)}
    for turn in range(repeats):
        print(f"turn {turn + 1} of {repeats} ...", file=sys.stderr)
        for each in (BOTO3, *FUNCTIONS):
            taken[each.name].append(_start(each, environment))
    return taken


def _environment(compiled: Path) -> dict[str, str]:
    """Return an environment with only the variables of this process that are needed to find programs. Compiled modules
    are stored in `compiled`. Lambda does not have awscrt, which the command line requires (requirements/dev.in) and
    botocore imports if it is installed.
    """
    lacking = compiled.with_name("lacking")
    lacking.mkdir(exist_ok=True)
    (lacking / "awscrt.py").write_text("raise ImportError\n")
    packages = (ROOT / "layers" / "duecourse" / "python", ROOT / "schedules" / "src")
    paths = [str(ROOT), *map(str, packages), str(lacking)]
    return {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONPYCACHEPREFIX": str(compiled),
        **ENVIRONMENT,
    }


def _start(function: Function, environment: dict[str, str]) -> Start:
    command = [sys.executable, "-P", str(CHILD), function.name, *filter(None, [function.build])]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    taken = json.loads(done.stdout.splitlines()[-1])
    return Start(taken["import"], taken["build"], taken["client"])


def _imports(statement: str, environment: dict[str, str]) -> list[importtime.Imported]:
    command = [sys.executable, "-P", "-X", "importtime", "-c", statement]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return importtime.read(done.stderr)


def _arguments() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold", description=__doc__ or "", formatter_class=form)
    parser.add_argument("--repeats", type=positive, default=15, help="starts of each (15)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

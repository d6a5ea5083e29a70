"""RESULTS.md as a whole: the head, the budgets, a section for each benchmark. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from benchmarks.results_pages import cases, cold, cost, generic, lanes, local, schedule
from benchmarks.results_pages.budgets import budget_table
from benchmarks.results_pages.markdown import cell, table, title

Document = Mapping[str, Any]

STALE = " (**stale**: the measured code has changed since)"
"""Follows the state of a result. It is determined again whenever the page is written."""

PAGES: Mapping[str, Callable[[Document], list[str]]] = {
    "schedule": schedule.page,
    "cold": cold.page,
    "dispatch": cases.page,
    "execute": cases.page,
    "local": local.page,
    "cost": cost.page,
    "lanes": lanes.page,
}
"""The pages by benchmark. All other benchmarks have the generic page."""

ABOUT: Mapping[str, str] = {
    "schedule": "One next occurrence, beside croniter, cronsim and croner",
    "cold": "Cold imports of the functions, beside `import boto3`",
    "dispatch": "Dispatching, beside the textbook loop",
    "execute": "Executing a run, beside the textbook worker",
    "workflows": "A run of a workflow: write units and messages",
    "creation": "Creating a job: write units",
    "requests": "What one request may cost: CPU, memory and tokens of the worst requests that are known",
    "burst": "Bursts, simulated from AWS's published limits",
    "local": "Lateness on the local stack, beside schedulers that people run themselves",
    "cost": "Dollars, beside other schedulers",
    "lanes": "Lanes on the local stack: thousands of low runs delay nobody else",
    "wait_queue": "A wait queue on the local stack: how soon the next one starts, and what waiting costs",
    "limits": "A concurrency key on the local stack with DynamoDB Local: how soon runs start, and how many are active",
    "hops": "Workflows on the local stack: from one job to the next, a PUT of many jobs, dying workers",
    "flood": "A flood of requests by one tenant, as another one feels it",
    "seats": "Slow targets of some tenants, as a quiet one feels them: stage prod, simulated",
    "slow": "Slow targets of four tenants, and the starts of a quiet one: the local stack",
    "console": "The console's first page and its list of 10,000 jobs, on the local stack",
}
"""The introductions in the order of the sections."""


def results_page(
    documents: Mapping[str, Document], plots: Sequence[str] = (), stale: Collection[str] = frozenset()
) -> str:
    """Return the page. `documents` has all results by the name of the benchmark, `plots` are file names in plots/, and
    `stale` are the benchmarks whose measured files have changed since.
    """
    named = [*ABOUT, *(name for name in documents if name not in ABOUT)]
    lines = [
        "# Results",
        "",
        "`make bench` and `make numbers` generate this page from the JSON documents in `results/`.",
        "Figures are of one machine: compare those of one section with each other, not with another machine's.",
        "",
        *_runs(documents, stale),
        "## Budgets",
        "",
        *budget_table(documents),
    ]
    for name in named:
        lines += [f"## {name}", "", ABOUT.get(name, ""), "", *_section(name, documents.get(name), plots)]
    others = [plot for plot in plots if not any(_belongs(plot, name) for name in named)]
    lines += [line for plot in others for line in (f"![{plot}](plots/{plot})", "")]
    return "\n".join(lines).rstrip("\n") + "\n"


def whole(document: Document) -> bool:
    """Return whether the benchmark completed and met all its budgets."""
    return "failed" not in document and all(document.get("budgets", {}).values())


def _runs(documents: Mapping[str, Document], stale: Collection[str]) -> list[str]:
    """Return the date, machine and versions (once if they are the same for all), and each benchmark's state."""
    machines = dict.fromkeys(machine for document in documents.values() if (machine := _machine(document)))
    versions: dict[str, dict[str, None]] = {}
    for document in documents.values():
        for package, version in (document.get("versions") or {}).items():
            versions.setdefault(package, {})[str(version)] = None
    dates = sorted(str(document["date"])[:10] for document in documents.values() if "date" in document)
    span = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "never"
    lines = [f"- Date: {span}", *(f"- Machine: {machine}" for machine in machines)]
    lines.append(
        "- Versions: " + ", ".join(f"{name} {' and '.join(found)}" for name, found in sorted(versions.items()))
    )
    ordered = sorted(documents, key=lambda name: [*ABOUT, name].index(name))
    state = [
        [name, str(documents[name].get("date", "-")), _state(documents[name]) + (STALE if name in stale else "")]
        for name in ordered
    ]
    return [*lines, "", *table(["benchmark", "run at", "state"], state)]


def _machine(document: Document) -> str:
    machine = document.get("machine")
    if not isinstance(machine, Mapping):
        return ""
    return f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"


def _state(document: Document) -> str:
    if "failed" in document:
        return f"**failed**: {cell(document['failed'])}"
    missed = [title(name) for name, met in document.get("budgets", {}).items() if not met]
    return f"**missed**: {', '.join(missed)}" if missed else "kept" if document.get("budgets") else "no budgets"


def _section(name: str, document: Document | None, plots: Sequence[str]) -> list[str]:
    if document is None:
        return [f"Not run here: there is no `results/{name}.json`. `python -m benchmarks.results --only {name}`", ""]
    versions = ", ".join(f"{package} {version}" for package, version in (document.get("versions") or {}).items())
    said = ", ".join(filter(None, (str(document.get("date", "")), _machine(document))))
    lines = [f"`{document['command']}`", ""] if "command" in document else []
    lines += [f"{said}; {versions}", ""] if said else []
    if "failed" in document:
        return [*lines, f"**It failed**: {cell(document['failed'])}", ""]
    if kept := document.get("budgets"):
        lines += table(["budget", "met"], [[title(budget), "yes" if met else "**no**"] for budget, met in kept.items()])
    lines += _page(name, document)
    return [*lines, *(line for plot in plots if _belongs(plot, name) for line in (f"![{plot}](plots/{plot})", ""))]


def _page(name: str, document: Document) -> list[str]:
    """Return the benchmark's own page, or the generic page if the document does not have the expected form."""
    try:
        return PAGES.get(name, generic.page)(document)
    except (KeyError, TypeError, AttributeError):
        return generic.page(document)


def _belongs(plot: str, name: str) -> bool:
    return plot.removesuffix(".png").split("-")[0].split("_")[0] == name

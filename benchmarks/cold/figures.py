"""The measurements of cold starts, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cold.functions import Function
from benchmarks.spread import spread


@dataclass(frozen=True, slots=True)
class Start:
    """The duration of one cold start in seconds: the import of the handler, the creation of the objects that it calls,
    and the creation of the first client (DynamoDB).
    """

    imported: float
    built: float
    client: float

    @property
    def ready(self) -> float:
        """The time until the first request could be sent."""
        return self.imported + self.built + self.client


def compared(starts: Sequence[Start], base: Sequence[Start]) -> dict[str, Any]:
    """Return the figures of a function's starts, compared in pairs with starts of boto3 alone."""
    pairs = list(zip(starts, base, strict=True))
    return {
        "import_ms": spread([_ms(start.imported) for start in starts], 1),
        "beyond_boto3_ms": spread([_ms(start.imported - other.imported) for start, other in pairs], 1),
        "build_ms": spread([_ms(start.built) for start in starts], 1),
        "first_client_ms": spread([_ms(start.client) for start in starts], 1),
        "ready_ms": spread([_ms(start.ready) for start in starts], 1),
        "ready_beyond_boto3_ms": spread([_ms(start.ready - other.ready) for start, other in pairs], 1),
    }


def alone(base: Sequence[Start]) -> dict[str, Any]:
    """Return the figures of boto3 alone."""
    return {
        "import_ms": spread([_ms(start.imported) for start in base], 1),
        "first_client_ms": spread([_ms(start.client) for start in base], 1),
        "ready_ms": spread([_ms(start.ready) for start in base], 1),
    }


def budgets(functions: Sequence[Function], documents: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether each function with a budget meets it: the median of the import time beyond that of boto3."""
    return {
        f"{each.name}_at_most_{each.most_beyond_boto3:g}_ms": bool(
            documents[each.name]["beyond_boto3_ms"]["median"] <= each.most_beyond_boto3
        )
        for each in functions
        if each.most_beyond_boto3 is not None and each.name in documents
    }


def table(document: Mapping[str, Any]) -> str:
    """Return a readable table with one row for each function."""
    head = f"{'':10}{'import ms':>20}{'beyond boto3':>22}{'build':>8}{'client':>8}{'ready':>8}{'uncompiled':>12}"
    lines = ["Cold starts, milliseconds: median (least to most)", "", head]
    for name, each in {"boto3": document["boto3"], **document["functions"]}.items():
        row = f"{name:10}{_spread(each['import_ms']):>20}"
        row += f"{_spread(each['beyond_boto3_ms']) if 'beyond_boto3_ms' in each else '':>22}"
        row += f"{each['build_ms']['median'] if 'build_ms' in each else 0:8.1f}{each['first_client_ms']['median']:8.1f}"
        lines.append(f"{row}{each['ready_ms']['median']:8.1f}{each['uncompiled']['import_ms']['median']:12.1f}")
    for name, each in document["functions"].items():
        told = ", ".join(f"{package} {taken} ms ({count})" for package, count, taken in each["beyond_boto3_packages"])
        lines += ["", f"{name}, beyond boto3 (modules): {told}"]
        lines.append("  slowest: " + ", ".join(f"{module} {taken}" for module, taken in each["beyond_boto3_modules"]))
    lines.append("")
    lines += [f"{'kept  ' if within else 'MISSED'}  {name}" for name, within in document["budgets"].items()]
    return "\n".join(lines)


def _ms(seconds: float) -> float:
    return 1000 * seconds


def _spread(figure: Mapping[str, float]) -> str:
    return f"{figure['median']:.0f} ({figure['min']:.0f} to {figure['max']:.0f})"

"""The page of `benchmarks.cold`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.cold.functions import FUNCTIONS
from benchmarks.results_pages.generic import HEAD, nested, rows
from benchmarks.results_pages.markdown import bullets

PRESENT = tuple(function.name for function in FUNCTIONS)
"""The present functions. A result may contain functions that no longer exist, and lack newer ones."""

LISTS = ("beyond_boto3_packages", "beyond_boto3_modules")
OWN = frozenset({"boto3", "functions", "notes"})


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the milliseconds of boto3 alone and of each function, compiled and not compiled, and the packages beyond
    boto3.
    """
    functions: Mapping[str, Mapping[str, Any]] = {
        name: each for name, each in document["functions"].items() if name in PRESENT
    }
    starts: Mapping[str, Mapping[str, Any]] = {"boto3": document["boto3"], **functions}
    aside = {"uncompiled", *LISTS}
    compiled = {name: {key: one for key, one in each.items() if key not in aside} for name, each in starts.items()}
    lines = [*rows(compiled)]
    bare = {name: each["uncompiled"] for name, each in starts.items() if "uncompiled" in each}
    if bare:
        lines += ["**where modules are not compiled beforehand**", "", *rows(bare)]
    lines += bullets(
        f"{name}, beyond boto3 (package, modules, ms): "
        + ", ".join(" ".join(map(str, part)) for part in each.get("beyond_boto3_packages", ()))
        for name, each in functions.items()
    )
    if missing := [name for name in PRESENT if name not in functions]:
        lines += bullets([f"Not measured yet: {', '.join(missing)}."])
    rest = {name: one for name, one in document.items() if name not in HEAD | OWN}
    return [*lines, *nested(rest), *bullets(document.get("notes", ()))]

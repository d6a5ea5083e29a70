"""The page of `benchmarks.cold`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.generic import HEAD, nested, rows
from benchmarks.results_pages.markdown import bullets

LISTS = ("beyond_boto3_packages", "beyond_boto3_modules")
OWN = frozenset({"boto3", "functions", "notes"})


def page(document: Mapping[str, Any]) -> list[str]:
    """Milliseconds of boto3 alone and of each function, compiled and not, and what lies beyond boto3."""
    starts: Mapping[str, Mapping[str, Any]] = {"boto3": document["boto3"], **document["functions"]}
    aside = {"uncompiled", *LISTS}
    compiled = {name: {key: one for key, one in each.items() if key not in aside} for name, each in starts.items()}
    lines = [*rows(compiled)]
    bare = {name: each["uncompiled"] for name, each in starts.items() if "uncompiled" in each}
    if bare:
        lines += ["**where modules are not compiled beforehand**", "", *rows(bare)]
    lines += bullets(
        f"{name}, beyond boto3 (package, modules, ms): "
        + ", ".join(" ".join(map(str, part)) for part in each.get("beyond_boto3_packages", ()))
        for name, each in document["functions"].items()
    )
    rest = {name: one for name, one in document.items() if name not in HEAD | OWN}
    return [*lines, *nested(rest), *bullets(document.get("notes", ()))]

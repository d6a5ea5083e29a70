"""What a release's code reads out of items: every field of the objects that they become."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import orjson


def meanings(jobs: list[dict[str, Any]], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What this code reads out of each item, by its key: every field of the object that it becomes."""
    payloads = {item["PK"]["S"]: item["payload"]["S"] for item in jobs if item["SK"]["S"] == "PAYLOAD"}
    found = {}
    for item in [*jobs, *runs]:
        meaning = _meaning(item, payloads)
        if meaning is not None:
            found[f"{item['PK']['S']}/{item['SK']['S']}"] = orjson.loads(orjson.dumps(meaning))
    return found


def _meaning(item: dict[str, Any], payloads: dict[str, str]) -> Any:
    kind = item["SK"]["S"].partition("#")[0]
    if kind == "JOB" and item["PK"]["S"].startswith("JOB#"):
        return _adapter("job_item").from_item(item, payloads.get(item["PK"]["S"]))
    if kind in {"CURSOR", "RUN", "WAKE", "INPUT"}:
        modules = {"CURSOR": "cursor_item", "RUN": "run_item", "WAKE": "wakes", "INPUT": "inputs"}
        return _adapter(modules[kind]).from_item(item)
    if kind == "ACTIVE":
        return _adapter("run_item").lock_from_item(item)
    return None


def _adapter(name: str) -> Any:
    return import_module(f"duecourse.adapters.dynamodb.{name}")

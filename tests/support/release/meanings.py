"""What a release's code reads out of items: every field of the objects that they become."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import orjson


def meanings(jobs: list[dict[str, Any]], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What this code reads out of each item, by its key: every field of the object that it becomes."""
    payloads = {item["PK"]["S"]: item["payload"]["S"] for item in jobs if item["SK"]["S"] == "PAYLOAD"}
    found = {}
    for item in [*jobs, *runs]:
        meaning = _meaning(item, payloads)
        if meaning is not None:
            found[f"{item['PK']['S']}/{item['SK']['S']}"] = _flat(orjson.loads(orjson.dumps(meaning)))
    return found


def _flat(meaning: Any) -> Any:
    """With the fields of a run's identity beside its others, as releases have them that know no identity."""
    if not isinstance(meaning, dict):
        return meaning
    plain = {name: _flat(value) for name, value in meaning.items() if name != "identity"}
    return plain | meaning.get("identity", {})


def _meaning(item: dict[str, Any], payloads: dict[str, str]) -> Any:
    kind = item["SK"]["S"].partition("#")[0]
    if kind == "JOB" and item["PK"]["S"].startswith("JOB#"):
        return _adapter("job_item").from_item(item, payloads.get(item["PK"]["S"]))
    if kind in {"CURSOR", "RUN", "WAKE", "INPUT"}:
        timers = "timers" if find_spec("duecourse.adapters.dynamodb.timers") else "wakes"  # as it was called before
        modules = {"CURSOR": "cursor_item", "RUN": "run_item", "WAKE": timers, "INPUT": "inputs"}
        return _adapter(modules[kind]).from_item(item)
    if kind == "ACTIVE":
        return _adapter("run_item").lock_from_item(item)
    return None


def _adapter(name: str) -> Any:
    return import_module(f"duecourse.adapters.dynamodb.{name}")

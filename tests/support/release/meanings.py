"""What a release's code reads out of items: every field of the objects that they become."""

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
            found[f"{item['PK']['S']}/{item['SK']['S']}"] = _flat(orjson.loads(orjson.dumps(meaning)))
    return found


def _flat(meaning: Any) -> Any:
    """With the fields of a run's parts beside its others, as releases have them that know no parts."""
    if not isinstance(meaning, dict):
        return meaning
    plain = {name: _flat(value) for name, value in meaning.items() if name not in PARTS}
    for part in PARTS:
        value = _flat(meaning.get(part))
        plain |= value if isinstance(value, dict) else {} if value is None else {part: value}
    return plain


PARTS = ("identity", "attempts", "callback", "failure")

READERS = {
    "JOB": "job_item",
    "CURSOR": "cursor_item",
    "RUN": "run_item",
    "WAKE": "timers",
    "INPUT": "inputs",
    "ACTIVE": "run_item",
}
"""The modules of `stores` that read items of a kind."""


def _meaning(item: dict[str, Any], payloads: dict[str, str]) -> Any:
    kind, partition = item["SK"]["S"].partition("#")[0], item["PK"]["S"]
    if kind not in READERS or (kind == "JOB" and not partition.startswith("JOB#")):
        return None
    reader = import_module(f"duecourse.stores.{READERS[kind]}")
    if kind == "ACTIVE":
        return reader.lock_from_item(item)
    return reader.from_item(item, payloads.get(partition)) if kind == "JOB" else reader.from_item(item)

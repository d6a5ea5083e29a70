"""The capacity of a stage: provisioned pollers of queues, and warm throughput of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duecourse.domain.maintenance.peaks import Throughput
from duecourse.ports import ServiceError

SETTLED = frozenset({"Enabled", "Disabled"})
"""The states in which an event source accepts changes (AWS Lambda API Reference, "UpdateEventSourceMapping")."""

REJECTED = "InvalidParameterValueException"
_UNITS = {"reads": "ReadUnitsPerSecond", "writes": "WriteUnitsPerSecond"}


class LambdaPollers:
    """Implementation of ports.QueuePollers.

    A queue has either a maximum concurrency or provisioned pollers. A request keeps the value of a field that it omits,
    and an empty object removes it (AWS Lambda API Reference, "ScalingConfig"). If AWS rejects a request that removes
    one and sets the other, this request only removes, and the call of the next minute sets.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def set(self, source: str, minimum: int, maximum: int) -> bool:
        found = self._client.get_event_source_mapping(UUID=source)
        wanted = {"MinimumPollers": minimum, "MaximumPollers": maximum}
        has = found.get("ProvisionedPollerConfig") or {}
        if found.get("State") not in SETTLED:
            return False
        if all(has.get(name) == pollers for name, pollers in wanted.items()):
            return True
        limited = bool(found.get("ScalingConfig"))
        self._change(source, {"ProvisionedPollerConfig": wanted}, {"ScalingConfig": {}} if limited else {})
        return False

    def remove(self, source: str, concurrent: int | None) -> bool:
        found = self._client.get_event_source_mapping(UUID=source)
        has = (found.get("ScalingConfig") or {}).get("MaximumConcurrency")
        provisioned = bool(found.get("ProvisionedPollerConfig"))
        if found.get("State") not in SETTLED:
            return False
        if not provisioned and has == concurrent:
            return True
        scaling = {} if concurrent is None else {"ScalingConfig": {"MaximumConcurrency": concurrent}}
        self._change(source, scaling, {"ProvisionedPollerConfig": {}} if provisioned else {})
        return False

    def _change(self, source: str, sets: Mapping[str, Any], removes: Mapping[str, Any]) -> None:
        try:
            self._client.update_event_source_mapping(UUID=source, **sets, **removes)
        except ServiceError as problem:
            if problem.code != REJECTED or not (sets and removes):
                raise
            self._client.update_event_source_mapping(UUID=source, **removes)


class DynamoThroughput:
    """Implementation of ports.TableThroughput. `tables` has the names of `jobs` and `runs`."""

    def __init__(self, client: Any, tables: Mapping[str, str]) -> None:
        self._client = client
        self._tables = tables

    def read(self) -> Throughput:
        units, updating = dict[str, int](), False
        for name, table in self._tables.items():
            found = self._client.describe_table(TableName=table)["Table"]
            indexes = {each["IndexName"]: each for each in found.get("GlobalSecondaryIndexes", ())}
            updating |= found.get("TableStatus") != "ACTIVE"
            for part, each in {name: found, **indexes}.items():
                warm = each.get("WarmThroughput") or {}
                updating |= "UPDATING" in (warm.get("Status"), each.get("IndexStatus"))
                units |= {f"{part}.{kind}": int(warm[key]) for kind, key in _UNITS.items() if key in warm}
        return Throughput(units, updating)

    def warm(self, table: str, units: Mapping[str, int]) -> None:
        parts: dict[str, dict[str, int]] = {}
        for name, each in units.items():
            part, _, kind = name.partition(".")
            parts.setdefault(part, {})[_UNITS[kind]] = each
        own = {"WarmThroughput": parts.pop(table)} if table in parts else {}
        indexes = [{"Update": {"IndexName": part, "WarmThroughput": each}} for part, each in parts.items()]
        more = {"GlobalSecondaryIndexUpdates": indexes} if indexes else {}
        self._client.update_table(TableName=self._tables[table], **own, **more)

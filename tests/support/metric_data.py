"""Metric data as CloudWatch keeps it: values by namespace, name and dimensions, each with its time."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Dimensions = frozenset[tuple[str, str]]
Key = tuple[str, str, Dimensions]


def dimensions(given: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Dimensions:
    """From a mapping, or as templates and requests list them. References of a template stay what they are, as text."""
    pairs = given.items() if isinstance(given, Mapping) else [(one["Name"], one["Value"]) for one in given]
    return frozenset((name, value if isinstance(value, str) else json.dumps(value)) for name, value in pairs)


@dataclass
class MetricData:
    """What was told so far."""

    values: dict[Key, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def put(self, namespace: str, name: str, of: Dimensions, at: float, *values: float) -> None:
        """Values of one instant (UTC seconds)."""
        self.values[(namespace, name, of)] += [(at, value) for value in values]

    def put_emf(self, line: str, at: float) -> None:
        """A line of a log in the embedded metric format, once under each of its sets of dimensions. Its own time stamp
        is that of the machine; `at` is that of the test's clock.
        """
        told = json.loads(line)
        for directive in told.get("_aws", {}).get("CloudWatchMetrics", []):
            for names in directive["Dimensions"]:
                of = dimensions({name: told[name] for name in names})
                for metric in directive["Metrics"]:
                    found = told[metric["Name"]]
                    values = found if isinstance(found, list) else [found]
                    self.put(directive["Namespace"], metric["Name"], of, at, *values)

    def within(self, key: Key, begin: float, end: float) -> list[float]:
        """Values from `begin` on and before `end`."""
        return [value for at, value in self.values.get(key, []) if begin <= at < end]

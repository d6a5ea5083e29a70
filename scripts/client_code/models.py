"""Generates the module of responses: frozen dataclasses."""

from __future__ import annotations

from scripts.client_code.document import Document
from scripts.client_code.names import docstring, python_name

BASES = {
    "Heartbeat": "HeartbeatExtras, Answer",
    "Run": "RunExtras, Answer",
    "SingleRun": "Run",
    "Workflow": "WorkflowSummary",
    "WorkflowPut": "Workflow",
    "WorkflowRun": "RunExtras, Answer",
}
"""Responses that extend another response, or that have methods as well as fields."""


def models(document: Document) -> str:
    """Return the text of the module of responses."""
    names = document.reachable(*filter(None, (document.answer(operation) for *_, operation in document.operations())))
    parts = []
    for name in sorted(names, key=lambda name: (_depth(name), name)):
        schema = document.schemas[name]
        if name.endswith("Page"):
            continue
        base = BASES.get(name, "Answer")
        inherited = document.schemas[base]["properties"] if base in document.schemas else {}
        lines = [f"@dataclass(frozen=True, kw_only=True)\nclass {name}({base}):"]
        lines.append(docstring(schema.get("description", name)))
        for field, kind in schema["properties"].items():
            if field in inherited:
                continue
            annotation = document.annotation(kind, sent=False)
            if field not in schema.get("required", ()) and annotation != "Any":
                annotation = f"{annotation.removesuffix(' | None')} | None"
            lines.append(f"    {python_name(field)}: {annotation}")
            if told := kind.get("description"):
                lines.append(docstring(told))
        parts.append("\n".join(lines))
    head = (
        '"""The models of responses. Written by scripts/client_code from openapi.json (`make openapi`)."""\n\n'
        "from __future__ import annotations\n\nfrom collections.abc import Mapping\n"
        "from dataclasses import dataclass\nfrom datetime import datetime\nfrom typing import Any, Literal\n\n"
        "from duecourse.client.reading import Answer, HeartbeatExtras, RunExtras\n"
    )
    return "\n\n".join((head, *parts))


def _depth(name: str) -> int:
    return 1 + _depth(BASES[name]) if name in BASES else 0

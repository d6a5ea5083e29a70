"""Generates the module of request bodies: TypedDicts."""

from __future__ import annotations

from scripts.client_code.document import Document
from scripts.client_code.names import docstring

DOCUMENTS = {"JobRequest": "job", "JobPatch": "changes", "WorkflowRequest": "workflow"}
"""The bodies that are passed as one argument, with the name of the argument. The fields of other bodies are separate
arguments.
"""


PARTS = ("LimitBreaker", "LimitRate", "RunRequest")
"""Parts of bodies that are passed as arguments, alone or in lists."""


def bodies(document: Document) -> str:
    """Return the text of the module of request bodies."""
    parts = []
    for name in document.reachable(*DOCUMENTS, *PARTS):
        schema = document.schemas[name]
        lines = [f"class {name}(TypedDict):", docstring(schema.get("description", name)), ""]
        for field, kind in schema["properties"].items():
            annotation = document.annotation(kind, sent=True)
            required = field in schema.get("required", ())
            lines.append(f"    {field}: {annotation if required else f'NotRequired[{annotation}]'}")
        parts.append("\n".join(lines))
    head = (
        '"""The bodies of requests. Written by scripts/client_code from openapi.json (`make openapi`)."""\n\n'
        "from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n"
        "from datetime import datetime\nfrom typing import Any, Literal, NotRequired, TypedDict\n"
    )
    return "\n\n".join((head, *parts))

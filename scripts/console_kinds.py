"""The console's data: targets and overlap, from the domain; defaults and limits of fields, from the API's document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from duecourse.domain.jobs.job import Overlap
from duecourse.domain.targets.kinds import TARGETS, TargetField, TargetKind

Schemas = Mapping[str, Any]


def written(document: Mapping[str, Any]) -> str:
    """Return the types of targets, each with its labels, the fields of its form and the fields of a new target; the
    rules for overlap with their labels; and the defaults and limits of the fields of requests.
    """
    schemas = document["components"]["schemas"]
    refs = schemas["JobRequest"]["properties"]["target"]["discriminator"]["mapping"]
    bodies = {word: schemas[ref.rpartition("/")[2]] for word, ref in refs.items()}
    requests = {name: dict(_declared(schemas, name)) for name in ("JobRequest", "KeyRequest", "SpreadPlanRequest")}
    rules = [{"value": each, "label": each.rule.label, "limit": each.rule.limit_label} for each in Overlap]
    found = {
        "targets": {word: _kind(kind, bodies.get(word, {})) for word, kind in TARGETS.items()},
        "overlap": rules,
        "requests": requests,
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _kind(kind: TargetKind, body: Schemas) -> dict[str, Any]:
    required = body.get("required", ())
    first = {
        name: each.first if each.first is not None else ""
        for name, each in kind.fields.items()
        if each.first is not None or name in required
    }
    fields = [_field(name, each, body["properties"][name]) for name, each in kind.fields.items() if body]
    shown = {"label": kind.label, "text": kind.text, "short": kind.short}
    return shown | ({"first": first, "fields": fields} if body else {})


def _field(name: str, field: TargetField, schema: Schemas) -> dict[str, Any]:
    options = field.options and [{"value": value, "label": label} for value, label in field.options.items()]
    found: dict[str, Any] = {"label": field.label, "kind": field.edited_as, "hint": field.hint}
    found |= {"standard": field.standard or _standard(schema), "options": options}
    return {"path": ["target", name]} | {key: value for key, value in found.items() if value is not None}


def _standard(schema: Schemas) -> str | None:
    """Return the default of a text or number as text."""
    default = schema.get("default")
    return str(default) if type(default) in (str, int) else None


def _declared(schemas: Schemas, name: str, outer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the paths of fields (`retry/max_attempts`) with their default as text, their limits, and the maximum number
    of entries of a list.
    """
    for field, schema in schemas[name]["properties"].items():
        refs = [each["$ref"] for each in (schema, *schema.get("anyOf", ())) if "$ref" in each]
        if len(refs) == 1:
            yield from _declared(schemas, refs[0].rpartition("/")[2], f"{outer}{field}/")
            continue
        lists = (each["maxItems"] for each in _options(schema) if "maxItems" in each)
        found = {"low": schema.get("minimum"), "high": schema.get("maximum"), "most": next(lists, None)}
        found["standard"] = _standard(schema)
        if kept := {key: value for key, value in found.items() if value not in (None, "")}:
            yield f"{outer}{field}", kept


def _options(schema: Schemas) -> Iterator[Schemas]:
    yield schema
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _options(option)

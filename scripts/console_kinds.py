"""The console's data about targets and overlap, generated from the domain."""

from __future__ import annotations

import json
from typing import Any

from duecourse.domain.jobs.job import Overlap
from duecourse.domain.targets.kinds import TARGETS, TargetField, TargetKind


def written() -> str:
    """Return the types of targets, each with its labels, the fields of its form and the fields of a new target, and the
    rules for overlap with their labels.
    """
    rules = [{"value": each, "label": each.rule.label, "limit": each.rule.limit_label} for each in Overlap]
    found = {"targets": {word: _kind(kind) for word, kind in TARGETS.items()}, "overlap": rules}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _kind(kind: TargetKind) -> dict[str, Any]:
    first = {
        name: each.first if each.first is not None else ""
        for name, each in kind.fields.items()
        if each.first is not None or (name in kind.required and each.standard is None)
    }
    fields = [_field(name, each) for name, each in kind.fields.items()]
    shown = {"label": kind.label, "text": kind.text, "short": kind.short}
    return shown | ({"first": first, "fields": fields} if kind.postable else {})


def _field(name: str, field: TargetField) -> dict[str, Any]:
    options = field.options and [{"value": value, "label": label} for value, label in field.options.items()]
    found: dict[str, Any] = {"label": field.label, "kind": field.edited_as, "hint": field.hint}
    found |= {"standard": field.standard, "options": options}
    return {"path": ["target", name]} | {key: value for key, value in found.items() if value is not None}

"""`python -m duecourse_cdk cdk.out`: the documents of a synthesised app, for `duecourse apply`.

Beside each template that has jobs or workflows it writes `<stack>.duecourse.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEMPLATE, DOCUMENTS = ".template.json", ".duecourse.json"
NAMES = {"Custom::DuecourseJob": "id", "Custom::DuecourseWorkflow": "workflow"}
"""The field with the id, by the type of the resource."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a template has: documents, and the ids of those that are known at deployment only."""

    documents: list[Mapping[str, Any]]
    unknown: list[str]


def documents(template: Mapping[str, Any]) -> Found:
    """The documents of all jobs and workflows in a template, in its order."""
    found = Found([], [])
    for name, properties in _resources(template):
        if isinstance(properties["Document"], str):
            found.documents.append({name: properties["Id"], **json.loads(properties["Document"])})
        else:
            found.unknown.append(properties["Id"])
    return found


def main(folder: str) -> int:
    """Write the files and say which; 1 where a document is left out."""
    left_out = False
    for path in sorted(Path(folder).rglob(f"*{TEMPLATE}")):
        found = documents(json.loads(path.read_text(encoding="utf-8")))
        if found.documents:
            written = path.with_name(path.name.removesuffix(TEMPLATE) + DOCUMENTS)
            written.write_text(json.dumps(found.documents, indent=2) + "\n", encoding="utf-8")
            sys.stdout.write(f"{written}: {len(found.documents)} documents\n")
        for job_id in found.unknown:
            left_out = True
            sys.stderr.write(
                f"{path}: {job_id} is left out, since it has a name that CloudFormation makes; give its target a name\n"
            )
    return 1 if left_out else 0


def _resources(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for resource in template.get("Resources", {}).values():
        if (name := NAMES.get(resource["Type"])) is not None:
            yield name, resource["Properties"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m duecourse_cdk cdk.out")
    sys.exit(main(sys.argv[1]))

"""Exports everything of a tenant into files.

`jobs.ndjson`, `runs.ndjson` and so on have one JSON document per line: an item of the tables with its key. Documents
that the tables store as text are written as JSON. `results/` has the large results, `logs/` the logs of runs,
`archive.ndjson` the archived runs, and `export.json`, which is written last, the counts. Secrets are listed by name.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections import Counter
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

from duecourse.checks.tenants import KINDS, kind_of
from duecourse.cli.output.documents import ExportedTenant, utc
from duecourse.cli.tenants.erasing import secrets_of_tenant
from duecourse.cli.tenants.objects import OWN, Objects
from duecourse.cli.tenants.place import Item, Place
from duecourse.cli.terminal import CliError

SUMMARY = "export.json"
TEXTS = ("definition", "payload", "rules", "result", "message", "earlier")
"""Attributes that are JSON documents stored as text."""


def export(place: Place, folder: Path) -> ExportedTenant:
    """Write the files into a folder and return the summary. An interrupted export has no summary; repeat it into the
    same folder. Raises CliError for a folder with other files.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "jobs.ndjson").exists():
        raise CliError(f"{folder} is not empty; choose another folder with --to")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).unlink(missing_ok=True)
    found = Counter[str]()
    with ExitStack() as files:
        lines = {kind: files.enter_context((folder / f"{kind}.ndjson").open("w")) for kind in KINDS}
        for table in (place.jobs, place.runs):
            for items in place.pages(table, only_keys=False):
                for item in items:
                    kind = kind_of(item["SK"]["S"])
                    lines[kind].write(json.dumps(document(item), ensure_ascii=False) + "\n")
                    found[kind] += 1
    objects = Objects(place)
    for own in OWN:
        for version in objects.of_tenant(own):
            if version.latest and not version.marker:
                path = folder / version.key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(objects.read(objects.results, version)[0])
                found[own] += 1
                place.progress(own, found[own], None)
    with (folder / "archive.ndjson").open("wb") as archive:
        for row in objects.rows():
            archive.write(row)
            found["archived runs"] += 1
    summary: ExportedTenant = {
        "tenant": place.tenant,
        "stage": place.stage.name,
        "at": utc(place.now()),
        "counts": {kind: found[kind] for kind in (*KINDS, *OWN, "archived runs")},
        "secrets": sorted(secret.name for secret in secrets_of_tenant(place).all()),
    }
    (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
    return summary


def document(item: Item) -> dict[str, Any]:
    """Return an item as JSON values."""
    plain = {name: value_of(value) for name, value in item.items()}
    for name in TEXTS:
        if isinstance(plain.get(name), str):
            plain[name] = _parsed(plain[name])
    if isinstance(graph := plain.get("graph"), str):
        plain["graph"] = json.loads(gzip.decompress(b64decode(graph)))
    return plain


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def value_of(value: Item) -> Any:
    """Return the JSON value of a stored attribute. A number with more digits than a float has is a text."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            if content.lstrip("-").isdigit():
                return int(content)
            number = float(content)
            return number if Decimal(repr(number)) == Decimal(content) else content
        case "SS":
            return sorted(content)
        case "NULL":
            return None
        case "M":
            return {name: value_of(inner) for name, inner in content.items()}
        case "L":
            return [value_of(inner) for inner in content]
        case _:
            return content

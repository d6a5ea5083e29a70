"""The synthesised template as plain data: what the tests' tables and the infra tests are made from.

A synthesis takes some seconds, so what it makes is kept under `.build/`, named after everything it is made from.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.shared import filled_once

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / ".build" / "synthesised"
MADE_FROM = ("infra", "functions", "layers", "schedules/src", "console", "clients", "package-lock.json")
NOT_READ = {"__pycache__", "dist", "node_modules", "schema.ts"}
TABLE_ARGUMENTS = ("KeySchema", "AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes", "StreamSpecification")


SOURCES = {"Repair": "repair", "Reconcile": "reconcile", "Claims": "token_claims"}
"""Folders of functions that have another name than their output: a logical id stays as it is."""


KEYED = "prod under a key"


def source_of(function: str) -> str:
    """The folder of a function under `functions/`, by its output without the ending."""
    return SOURCES.get(function, function.lower())


@cache
def template(stage: str, made_from: tuple[str, ...] = MADE_FROM, **context: str) -> dict[str, Any]:
    """The CloudFormation template of a stage, as `cdk synth` makes it, but without building the layer; with the context
    that is given on top of that of cdk.json. `KEYED` is stage prod under a key of its own.

    One made from the same files is used again; hashes of assets outside `made_from` may be old then.
    """
    if stage == KEYED:
        return template("prod", made_from, **context, encryption_key="own")

    def make(folder: Path) -> None:
        assembly = synthesise(folder / "cdk.out", {"aws:cdk:bundling-stacks": [], **context, "stage": stage})
        (folder / "template.json").write_text(json.dumps(assembly.get_stack_by_name(f"Duecourse-{stage}").template))
        shutil.rmtree(folder / "cdk.out")

    folder = kept(stage, make, made_from, json.dumps(context, sort_keys=True))
    loaded: dict[str, Any] = json.loads((folder / "template.json").read_text())
    return loaded


def kept(name: str, make: Callable[[Path], object], made_from: tuple[str, ...] = MADE_FROM, more: str = "") -> Path:
    """The folder under `.build/` that `make` fills, once for the same files (and `more`)."""
    return filled_once(KEPT / f"{name}-{_fingerprint(made_from, more)[:32]}", make)


def synthesise(folder: Path, context: dict[str, Any]) -> Any:
    """The app's assembly, made now in `folder`, with the context that is given on top of that of cdk.json."""
    from infra.application import build  # takes seconds: only for those who synthesise

    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    return build(outdir=str(folder), context={**ours, **context}).synth()


def resources(stage: str, kind: str) -> dict[str, dict[str, Any]]:
    """The resources of one CloudFormation type, by logical id."""
    return _of_type(template(stage), kind)


def _of_type(made: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {name: each for name, each in made["Resources"].items() if each["Type"] == kind}


@cache
def table_definitions(stage: str = "local") -> dict[str, dict[str, Any]]:
    """Arguments for boto3's create_table, without TableName, of the tables `jobs` and `runs`."""
    made = template(stage, ("infra",))  # no table depends on the functions' code
    tables = _of_type(made, "AWS::DynamoDB::Table")
    definitions = {}
    for name, output in (("jobs", "JobsTable"), ("runs", "RunsTable")):
        logical_id = made["Outputs"][output]["Value"]["Ref"]
        properties = tables[logical_id]["Properties"]
        definition = {key: properties[key] for key in TABLE_ARGUMENTS if key in properties}
        if "StreamSpecification" in definition:  # CloudFormation leaves out what the API asks for
            definition["StreamSpecification"] = {"StreamEnabled": True, **definition["StreamSpecification"]}
        definitions[name] = definition
    return definitions


@cache
def _fingerprint(made_from: tuple[str, ...], more: str) -> str:
    """A hash of the names and contents of all that a template is made from."""
    whole = hashlib.sha256(f"{sys.version}\0{more}\0".encode())
    files = [ROOT / "cdk.json", ROOT / "requirements/dev.txt"]
    for name in made_from:
        tops = [ROOT / name, *(ROOT / name).rglob("*")]
        files += [path for path in tops if path.is_file() and not NOT_READ.intersection(path.parts)]
    for path in sorted(files):
        whole.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()

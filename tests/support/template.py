"""The synthesised template as plain data: what the tests' tables and the infra tests are made from.

A synthesis takes some seconds, so templates are kept under `.build/`, named after everything they are made from.
"""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / ".build" / "templates"
MADE_FROM = ("infra", "functions", "layers")
TABLE_ARGUMENTS = (
    "KeySchema",
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "StreamSpecification",
)


@cache
def template(stage: str, made_from: tuple[str, ...] = MADE_FROM) -> dict[str, Any]:
    """The CloudFormation template of a stage, as `cdk synth` makes it, but without building the layer.

    One made from the same files is used again; hashes of assets outside `made_from` may be old then.
    """
    kept = KEPT / f"{stage}-{_fingerprint(made_from)[:32]}.json"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(synthesise(stage)))
        fresh.replace(kept)
    loaded: dict[str, Any] = json.loads(kept.read_text())
    return loaded


def synthesise(stage: str, **context: str) -> dict[str, Any]:
    """A template made now, with the context that is given on top of that of cdk.json."""
    from infra.application import build  # takes seconds: only for those who synthesise

    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    with TemporaryDirectory(prefix="duecourse-synth-") as folder:
        app = build(outdir=folder, context={**ours, "aws:cdk:bundling-stacks": [], **context, "stage": stage})
        made: dict[str, Any] = app.synth().get_stack_by_name(f"Duecourse-{stage}").template
        return made


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
def _fingerprint(made_from: tuple[str, ...]) -> str:
    """A hash of the names and contents of all that a template is made from."""
    whole = hashlib.sha256()
    files = [ROOT / "cdk.json", ROOT / "requirements-dev.txt"]
    for folder in made_from:
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted(files):
        whole.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()

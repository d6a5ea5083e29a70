"""A stage that is synthesized in advance, `duecourse-1.0.0-prod.tgz`. `duecourse deploy` deploys it without a checkout,
Python packages of the CDK, or a synthesis.

Most settings change the resources of the template, so they need a synthesis. Those that a first user needs are texts
that the template only passes on. The template is synthesized with a placeholder for each, and `with_parameters`
replaces the placeholders by CloudFormation parameters. So `infra` does not need to know of parameters.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from aws_cdk import App

from duecourse.cli.deployment.assembly import ASSETS, DESCRIPTION, UNPROTECTED, Description, Setting
from duecourse.version import VERSION
from infra.settings.config import EMAIL
from infra.settings.deployment_settings import DEPLOYMENT_SETTINGS
from infra.stages import STAGES
from scripts.release.stage_tree import PACKAGE

ROOT = Path(__file__).resolve().parents[2]
STAGE = "prod"

ORIGIN = "https://issuer.invalid"
"""The begin of the issuer's placeholder, which the console's policy allows (infra/functions/auth.py)."""

PLACEHOLDERS = {
    "alarm_email": "alarm-email@placeholder.invalid",
    "issuer": f"{ORIGIN}/placeholder",
    "audience": "audience-placeholder",
    "console_client": "console-client-placeholder",
}

# No quotation marks and backslashes, because the console's settings are JSON in the template.
SETTINGS = {
    "alarm_email": Setting("AlarmEmail", EMAIL.pattern, "must be an e-mail address such as you@example.com"),
    "issuer": Setting(
        "Issuer", r"https://[A-Za-z0-9._~:/%-]{1,200}", "must be an https address such as https://login.example.com"
    ),
    "audience": Setting(
        "Audience",
        r"[A-Za-z0-9._~:/@%-]{1,200}(,[A-Za-z0-9._~:/@%-]{1,200}){0,49}",
        "must be the audience of the tokens, several separated by commas without spaces",
    ),
    "console_client": Setting(
        "ConsoleClient", r"[A-Za-z0-9._~:/@%-]{1,200}", "must be the id of a public client of the issuer"
    ),
}

VARIANTS = {"jwt": ("alarm_email", "issuer", "audience", "console_client"), "cognito": ("alarm_email",)}
"""The settings of each variant. The resources of a stage with an issuer differ from those of one with its own users."""

LEFT_OUT = frozenset({"performance-counters.json", "validation-report.json"})


class AssemblyError(RuntimeError):
    """A setting cannot be a parameter."""


def write(file: Path, wheel: Path) -> None:
    """Write the archive with the content of the wheel `duecourse-stage`. Raises AssemblyError."""
    members = {DESCRIPTION: description().to_json().encode()}
    with TemporaryDirectory() as unpacked:
        with ZipFile(wheel) as archive:
            archive.extractall(unpacked)  # noqa: S202 (our own wheel)
        for variant, settings in VARIANTS.items():
            for protected in (True, False):
                name = variant if protected else f"{variant}{UNPROTECTED}"
                folder = Path(unpacked) / name
                synthesise(folder, Path(unpacked), settings, protected=protected)
                members |= dict(_members(folder, name))
    with tarfile.open(file, "w:gz", compresslevel=9) as archive:
        for name, content in sorted(members.items(), key=lambda each: each[0] != DESCRIPTION):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))


def description() -> Description:
    """Return the description of the archive."""
    config = STAGES[STAGE]
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    return Description(
        version=VERSION,
        stage=STAGE,
        cdk=lock["packages"]["node_modules/aws-cdk"]["version"],
        variants=VARIANTS,
        settings=SETTINGS,
        others=tuple(name for name in DEPLOYMENT_SETTINGS if name not in SETTINGS),
        reserved=config.reserved,
        most_concurrent=config.most_concurrent,
        account_concurrency=config.account_concurrency,
    )


def synthesise(folder: Path, site: Path, settings: tuple[str, ...], *, protected: bool) -> None:
    """Write the cloud assembly of a variant to `folder` with the package in `site`. Its template has a parameter for
    each of the settings.
    """
    sys.path.insert(0, str(site))
    try:
        construct = importlib.import_module(f"{PACKAGE}.construct")
    finally:
        sys.path.pop(0)
    # Traces of the stack would name folders of this machine, and the tree only serves tools.
    app = App(outdir=str(folder), analytics_reporting=False, stack_traces=False, tree_metadata=False)
    given = {name: PLACEHOLDERS[name] for name in settings}
    stack = construct.DuecourseStage(app, f"Duecourse-{STAGE}", settings=given, deletion_protection=protected)
    app.synth()
    template = folder / f"{stack.stack_name}.template.json"
    before = hashlib.sha256(template.read_bytes()).hexdigest()
    changed = with_parameters(json.loads(template.read_text(encoding="utf-8")), settings)
    template.write_text(json.dumps(changed, indent=1), encoding="utf-8")
    after = hashlib.sha256(template.read_bytes()).hexdigest()
    # The CDK's command line uploads the template under its hash.
    for file in (folder / "manifest.json", folder / f"{stack.stack_name}.assets.json"):
        text = file.read_text(encoding="utf-8")
        if before not in text:
            raise AssemblyError(f"{file.name} does not name the template by the hash of its content")
        file.write_text(text.replace(before, after), encoding="utf-8")


def with_parameters(template: Mapping[str, Any], settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the template with a parameter for each of these settings. Raises AssemblyError if one does not occur, or
    if a function with versions depends on it: a change of the parameter would not create a version.
    """
    parameters = {
        SETTINGS[name].parameter: {
            "Type": "String",
            "AllowedPattern": SETTINGS[name].pattern,
            "ConstraintDescription": SETTINGS[name].wants,
            "Description": f"The setting {name} (docs/operations.md)",
        }
        for name in settings
    }
    resources: Mapping[str, Any] = template["Resources"]
    changed = {name: _replaced(resource) for name, resource in resources.items()}
    text = json.dumps(changed)
    for name in settings:
        if f'"{SETTINGS[name].parameter}"' not in text:
            raise AssemblyError(f"{name} does not occur in the template, so it must not be a parameter")
    others = {name: part for name, part in template.items() if name != "Resources"}
    if left := [each for each in (*PLACEHOLDERS.values(), ORIGIN) if each in text + json.dumps(others)]:
        raise AssemblyError(f"{', '.join(left)} occurs where the template has no value")
    for version in resources.values():
        if version["Type"] == "AWS::Lambda::Version":
            function = version["Properties"]["FunctionName"]["Ref"]
            if changed[function] != resources[function]:
                raise AssemblyError(f"{function} has versions, which parameters do not change")
    return {**others, "Parameters": {**template["Parameters"], **parameters}, "Resources": changed}


def _replaced(value: Any) -> Any:
    """Return a part of the template with parameters instead of placeholders."""
    match value:
        case dict():
            return {name: _replaced(each) for name, each in value.items()}
        case [str() as text] if text == PLACEHOLDERS["audience"]:
            return {"Fn::Split": [",", {"Ref": SETTINGS["audience"].parameter}]}
        case list():
            return [_replaced(each) for each in value]
        case str():
            return _joined(value)
        case _:
            return value


def _joined(text: str) -> Any:
    """Return a text with references instead of placeholders."""
    origin = {"Fn::Join": ["", ["https://", {"Fn::Select": [2, {"Fn::Split": ["/", _reference("issuer")]}]}]]}
    parts: list[Any] = [text]
    for placeholder, reference in (*((PLACEHOLDERS[name], _reference(name)) for name in SETTINGS), (ORIGIN, origin)):
        parts = [piece for part in parts for piece in _split(part, placeholder, reference)]
    if parts == [text]:
        return text
    return parts[0] if len(parts) == 1 else {"Fn::Join": ["", parts]}


def _split(part: Any, placeholder: str, reference: Any) -> Iterator[Any]:
    """Yield the pieces of a text around each placeholder, with the reference between them."""
    if not isinstance(part, str):
        yield part
        return
    for number, piece in enumerate(part.split(placeholder)):
        if number:
            yield reference
        if piece:
            yield piece


def _reference(name: str) -> dict[str, str]:
    return {"Ref": SETTINGS[name].parameter}


def _members(folder: Path, variant: str) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.iterdir()):
        if file.suffix == ".zip":
            yield f"{ASSETS}/{file.name}", file.read_bytes()
        elif file.is_file() and file.name not in LEFT_OUT:
            yield f"{variant}/{file.name}", file.read_bytes()

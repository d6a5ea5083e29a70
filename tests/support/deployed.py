"""The local stack on an emulator without the CDK command line: assets are uploaded and the template is sent, which
takes one or two seconds.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.support.emulators import client
from tests.support.template import kept, synthesise, template
from tests.support.waiting import PATIENCE_SECONDS

BUCKET = "cdk-hnb659fds-assets-000000000000-us-east-1"
STACK = "Duecourse-local"
SOON_ONCE = {"schedule": "rate(4 seconds)", "max_runs": 1}
"""A job's schedule, which counts from its creation: it is never in the past, however long a request takes."""

SITE = "python/lib/python3/site-packages/layer.pth"
"""A file of the layer that Python reads when it starts."""

Template = dict[str, Any]
Asset = tuple[str, str, Path]
"""The key in the bucket, the CDK's name, and the folder."""


def deploy(endpoint: str, change: Callable[[Template], None] = lambda _: None, **context: str) -> dict[str, str]:
    """Create the stack of stage `local` with a change, and return its outputs. `context` is added to that
    of cdk.json.
    """
    upload(endpoint)
    made = deepcopy(template("local", **context))
    change(made)
    return send(endpoint, made, "create")


def functions(made: Template) -> Iterator[dict[str, str]]:
    """Yield the variables of each function."""
    for resource in made["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function":
            yield resource["Properties"]["Environment"]["Variables"]


def send(endpoint: str, made: Template, verb: str, name: str = STACK) -> dict[str, str]:
    """Let CloudFormation "create" or "update" the stack, whose assets are uploaded. Return its outputs."""
    cloudformation = client("cloudformation", endpoint)
    # By way of the bucket, as the CDK's command line does: a request holds 51,200 bytes only. Without the check that
    # `cdk bootstrap` was run: it was not.
    parts = {key: part for key, part in made.items() if key not in {"Parameters", "Rules"}}
    body = json.dumps(parts, separators=(",", ":")).encode()
    client("s3", endpoint).put_object(Bucket=BUCKET, Key="template.json", Body=body)
    ask = getattr(cloudformation, f"{verb}_stack")
    ask(StackName=name, TemplateURL=f"{endpoint}/{BUCKET}/template.json", Capabilities=["CAPABILITY_IAM"])
    waiter = cloudformation.get_waiter(f"stack_{verb}_complete")
    waiter.wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE_SECONDS})
    (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", ())}


def invoke(endpoint: str, function: str, event: dict[str, Any] | None = None) -> Any:
    """Return a function's response. Raises AssertionError with its message if it fails."""
    answer = client("lambda", endpoint).invoke(FunctionName=function, Payload=json.dumps(event or {}).encode())
    said = answer["Payload"].read()  # whatever it says: a connection is given back when all was read
    assert "FunctionError" not in answer, said
    return json.loads(said)


def upload(endpoint: str) -> list[Asset]:
    """Upload all assets of the current stack to the bucket in the template, and return them. A layer is uploaded as one
    line that names its folder here: for each worker of a function, the emulator would unpack the layer's two thousand
    files again.
    """
    folder = kept("assembly", lambda folder: synthesise(folder, {"stage": "local"}))
    client("s3", endpoint).create_bucket(Bucket=BUCKET)
    assets = list(asset_keys(folder))
    for key, _, source in assets:
        if (layer := source / "python").is_dir():
            files = {SITE: f"import sys; sys.path.insert(0, {str(layer)!r})\n".encode()}
        else:
            files = {str(path.relative_to(source)): path.read_bytes() for path in _files(source)}
        put_asset(endpoint, key, files)
    return assets


def asset_keys(assembly: Path) -> Iterator[Asset]:
    """Yield the assets of a synthesised stack that are folders."""
    files: dict[str, Any] = json.loads((assembly / f"{STACK}.assets.json").read_text())["files"]
    for asset in files.values():
        (destination,) = asset["destinations"].values()
        if asset["source"]["packaging"] == "zip":
            yield destination["objectKey"], asset["displayName"], assembly / asset["source"]["path"]


def put_asset(endpoint: str, key: str, files: dict[str, bytes]) -> None:
    """Upload the files of a folder as an archive for Lambda."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    client("s3", endpoint).put_object(Bucket=BUCKET, Key=key, Body=buffer.getvalue())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())

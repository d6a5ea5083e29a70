"""The local stack on an emulator without the CDK command line: assets uploaded, template sent, a second or two."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.emulators import client
from tests.support.template import ROOT

BUCKET = "cdk-hnb659fds-assets-000000000000-us-east-1"
STACK = "Duecourse-local"


Template = dict[str, Any]


def deploy(
    endpoint: str, folder: Path, change: Callable[[Template], None] = lambda _: None, **given: str
) -> dict[str, str]:
    """Synthesise stage `local` with its layers into `folder`, create the stack as changed; its outputs.

    `given` is context on top of that of cdk.json, such as an issuer of tokens.
    """
    from infra.application import build  # takes seconds: only for those who deploy

    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    build(outdir=str(folder), context={**context, **given, "stage": "local"}).synth()
    _upload(endpoint, folder)
    template: Template = json.loads((folder / f"{STACK}.template.json").read_text())
    for bootstrap in ("Parameters", "Rules"):  # the check that `cdk bootstrap` was run: it was not
        template.pop(bootstrap, None)
    change(template)
    cloudformation = client("cloudformation", endpoint)
    # By way of the bucket, as the CDK's command line does: a request holds 51,200 bytes only.
    body = json.dumps(template, separators=(",", ":")).encode()
    client("s3", endpoint).put_object(Bucket=BUCKET, Key="template.json", Body=body)
    url = f"{endpoint}/{BUCKET}/template.json"
    cloudformation.create_stack(StackName=STACK, TemplateURL=url, Capabilities=["CAPABILITY_IAM"])
    cloudformation.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
    (stack,) = cloudformation.describe_stacks(StackName=STACK)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def _upload(endpoint: str, folder: Path) -> None:
    """Every asset into the bucket where the template expects it."""
    s3 = client("s3", endpoint)
    s3.create_bucket(Bucket=BUCKET)
    files: dict[str, Any] = json.loads((folder / f"{STACK}.assets.json").read_text())["files"]
    for asset in files.values():
        (destination,) = asset["destinations"].values()
        if asset["source"]["packaging"] == "zip":
            content = _zipped(folder / asset["source"]["path"])
            s3.put_object(Bucket=BUCKET, Key=destination["objectKey"], Body=content)


def _zipped(folder: Path) -> bytes:
    """A folder as Lambda wants it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return buffer.getvalue()

"""The stage that an older release deploys: its template and its functions, packed when it was recorded."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tests.support.deployed import STACK, asset_keys, put_asset, send, upload
from tests.support.release_code import EPOCH, RELEASES

TEMPLATE = "template.json"
DEPENDENCIES, CORE = "Python/Dependencies/Code", "Python/Core/Code"
"""What the CDK calls the assets of the two layers."""

_SYNTHESISE = """
import json, os, sys
sys.path.insert(0, os.getcwd())
from infra.application import build
context = json.load(open("cdk.json"))["context"]
build(outdir=sys.argv[1], context={**context, "stage": "local", "aws:cdk:bundling-stacks": []}).synth()
"""


def pack_stage(tree: Path, archive: Path) -> None:
    """The template of a release's stage `local`, and of its assets what its code.zip does not have: the functions'
    handlers. Dependencies are not packed: the older code runs with the present ones, as it does beside the
    present code while a deployment lasts.
    """
    with TemporaryDirectory(prefix="duecourse-stage-") as scratch:
        subprocess.run([sys.executable, "-P", "-c", _SYNTHESISE, scratch], cwd=tree, check=True)
        template = (Path(scratch) / f"{STACK}.template.json").read_text()
        with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=9) as packed:
            for key, name, source in asset_keys(Path(scratch)):
                template = template.replace(key, name)
                for path in sorted(source.rglob("*")) if name != DEPENDENCIES else ():
                    inside = path.relative_to(source)
                    if name != CORE and path.is_file() and "__pycache__" not in inside.parts:
                        packed.writestr(ZipInfo(f"{name}/{inside.as_posix()}", EPOCH), path.read_bytes(), ZIP_DEFLATED)
            packed.writestr(ZipInfo(TEMPLATE, EPOCH), template, ZIP_DEFLATED)


def template_of_release(release: str) -> dict[str, Any]:
    """The template of a release's stage `local`."""
    with ZipFile(RELEASES / release / "stage.zip") as stage:
        found: dict[str, Any] = json.loads(stage.read(TEMPLATE))
    return found


def deploy_release(endpoint: str, release: str) -> dict[str, str]:
    """Create the stack as this release did; its outputs. The present release's assets are uploaded, too."""
    with ZipFile(RELEASES / release / "code.zip") as code, ZipFile(RELEASES / release / "stage.zip") as stage:
        assets: dict[str, dict[str, bytes]] = {CORE: {}}
        for name in stage.namelist():
            asset, found, inside = name.partition("/Code/")
            if found:
                assets.setdefault(f"{asset}/Code", {})[inside] = stage.read(name)
        assets[CORE] |= {f"python/{name}": code.read(name) for name in code.namelist() if name.startswith("duecourse")}
        template = stage.read(TEMPLATE).decode()
    for key, name, _ in upload(endpoint):
        if name == DEPENDENCIES:
            template = template.replace(DEPENDENCIES, key)
    for name, files in assets.items():
        put_asset(endpoint, name, files)
    return send(endpoint, json.loads(template), "create")

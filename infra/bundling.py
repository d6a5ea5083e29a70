"""Builds the dependencies layer from its hashed lock with uv: no Docker, and for another machine if need be."""

import hashlib
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from infra.uv import environment, find_uv

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "layers" / "dependencies" / "requirements.txt"
RECIPE = "4"  # raise it when the steps below change what they build

# botocore describes every AWS service in files of its own: nineteen in twenty of the layer's files, never opened.
# Each cold start pays for them, so only these services stay, and those of the API calls that a stage's jobs may make.
# A test holds this list against what the functions' roles may do.
SERVICES = frozenset(
    {"dynamodb", "ecs", "events", "lambda", "s3", "secretsmanager", "sns", "sqs", "ssm", "stepfunctions", "sts"}
)


class BundlingError(RuntimeError):
    """The layer could not be built; says what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """The Python and the machine that a layer is built for."""

    python: str
    machine: str
    this_machine: bool
    services: frozenset[str] = SERVICES
    """The AWS services that can be called with it, as boto3 names them."""

    @classmethod
    def lambda_arm64(cls, python: str, more: frozenset[str] = frozenset()) -> "Target":
        """AWS's own Graviton machines; `more` services than the functions call by themselves."""
        return cls(python=python, machine="aarch64-manylinux2014", this_machine=False, services=SERVICES | more)

    @classmethod
    def host(cls, more: frozenset[str] = frozenset()) -> "Target":
        """The interpreter that runs this, for the local stack."""
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        machine = f"{sys.platform}-{platform.machine()}"
        return cls(python=python, machine=machine, this_machine=True, services=SERVICES | more)

    @property
    def asset_hash(self) -> str:
        """Changes when what would be built changes, and only then: an unchanged layer is not built again."""
        parts = (RECIPE, self.python, self.machine, *sorted(self.services), LOCK.read_text())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def uv_options(self) -> list[str]:
        """How uv is told about the target."""
        if self.this_machine:
            return ["--python", sys.executable]
        return ["--python-version", self.python, "--python-platform", self.machine]


def install(target: Target, folder: Path) -> None:
    """Fill `folder` as a layer: python/ with the locked packages."""
    site = folder / "python"
    uv = find_uv()
    if uv is None:
        raise BundlingError("uv is needed to build the dependencies layer and was not found: run make setup")
    command = [uv, "pip", "install", "--quiet", "--target", str(site), *target.uv_options()]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--link-mode", "copy", "-r", str(LOCK)]
    run(command, "the dependencies layer could not be built with uv")
    prune(site, target.services)
    if target.this_machine:  # the local stack unpacks the layer for each function: spare it compiling, too
        compile_all = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(site)]
        run(compile_all, "the packages of the dependencies layer could not be compiled")


def run(command: list[str], failure: str) -> None:
    """Run one tool; when it fails, say so with what it said."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BundlingError(f"{failure}:\n{done.stdout}{done.stderr}".rstrip())


def prune(site: Path, services: frozenset[str]) -> None:
    """Take out what no function opens: commands, caches, tests, other services' and older descriptions of services."""
    known = {folder.name: folder for folder in (site / "botocore" / "data").iterdir() if folder.is_dir()}
    if unknown := services - known.keys():
        raise BundlingError(f"boto3 knows no service {', '.join(sorted(unknown))}: see allowed_targets in the stages")
    others = [folder for name, folder in known.items() if name not in services]
    older = [version for name in services for version in sorted(known[name].iterdir())[:-1]]  # named by their dates
    caches = [*site.rglob("__pycache__"), *site.rglob("tests")]
    for folder in [site / "bin", site / "boto3" / "examples", *others, *older, *caches]:
        shutil.rmtree(folder, ignore_errors=True)
    for file in [site / ".lock", *(site / "botocore" / "data").rglob("examples-1.json")]:
        file.unlink(missing_ok=True)


@jsii.implements(ILocalBundling)
class LocalBundling:
    """CDK's hook for building an asset without Docker."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def try_bundle(self, output_dir: str, *_options: Any, **_more: Any) -> bool:
        """Build into CDK's folder; there is no Docker to fall back to, so a failure is raised."""
        install(self._target, Path(output_dir))
        return True


def dependencies_code(target: Target) -> lambda_.Code:
    """The layer's content as an asset."""
    return lambda_.Code.from_asset(
        str(LOCK.parent),
        asset_hash=target.asset_hash,
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=DockerImage.from_registry("never-used"), local=LocalBundling(target)),
    )

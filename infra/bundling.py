"""Builds the functions' code and their layers without Docker, also for a machine of another type. uv installs the
dependencies from their lock file with hashes.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from duecourse.domain.targets.kinds import TARGETS
from infra import prebuilt
from infra.uv import environment, find_uv

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "layers" / "dependencies" / "requirements.txt"
CORE = ROOT / "layers" / "duecourse"
ENGINE = ROOT / "schedules" / "src"
FUNCTIONS = ROOT / "functions"
CLIENT_SIDE = frozenset({"cli", "client", "schedules.py", "testing", "worker"})
"""Parts of the packages `duecourse` and `duecourse_schedules` for users' machines. No function imports them."""
LAMBDA_PYTHON = "3.14"
"""The Python version of the functions on AWS."""
LAYERS = "/opt"
"""The folder of the layers on AWS (AWS Lambda Developer Guide, "Packaging your layer content")."""
RECIPE = "7"  # raise it when the steps below change what they build, modes of files included

# botocore describes every AWS service in files. They are 95% of the layer's files and most are never opened, but they
# slow down each cold start. The layer therefore contains only these services, and those of the API calls that a stage's
# jobs can make. A test compares this list with the permissions of the functions' roles.
SERVICES = frozenset(
    ("cloudwatch", "dynamodb", "dynamodbstreams", "events", "s3", "secretsmanager", "sns", "sqs", "ssm")
) | {kind.service for kind in TARGETS.values() if kind.service}


class BundlingError(RuntimeError):
    """The layer could not be built. The message has the remedy."""


@dataclass(frozen=True, slots=True)
class Target:
    """The Python version and the machine that a layer is built for."""

    python: str
    machine: str
    this_machine: bool
    services: frozenset[str] = SERVICES
    """The AWS services that boto3 can call in the layer, by boto3's names."""

    @classmethod
    def lambda_arm64(cls, python: str, more: frozenset[str] = frozenset()) -> "Target":
        """Return the target for AWS's Graviton machines. `more` are services in addition to those that the functions
        need.
        """
        return cls(python=python, machine="aarch64-manylinux2014", this_machine=False, services=SERVICES | more)

    @classmethod
    def host(cls, more: frozenset[str] = frozenset()) -> "Target":
        """Return the target for the current interpreter, for the local stack."""
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        machine = f"{sys.platform}-{platform.machine()}"
        return cls(python=python, machine=machine, this_machine=True, services=SERVICES | more)

    @property
    def interpreter(self) -> str | None:
        """The path of a Python interpreter of the target's version on this machine, for compilation; None if there is
        none.
        """
        if self.this_machine:
            return sys.executable
        found = shutil.which(f"python{self.python}")
        if found is None:
            return None
        version = "import sys; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([found, "-c", version], capture_output=True, text=True, check=False)
        return found if said.stdout.strip() == self.python else None

    @property
    def warning(self) -> str | None:
        """A warning with its remedy for the deployment; None if the layers are compiled."""
        if prebuilt.exists():
            return None if prebuilt.index().compiled else prebuilt.NOT_COMPILED
        if self.interpreter is not None:
            return None
        python = f"python{self.python}"
        return (
            f"no {python} on the PATH, so the layers are deployed as source: each cold start compiles its imports, "
            "which takes over a second and exceeds the budget of a cold import (benchmarks/RESULTS.md, cold). Install "
            f"{python} (`uv python install {self.python}` with the uv on the PATH or in .tools/bin, or your system's "
            "package) and run this again"
        )

    @property
    def asset_hash(self) -> str:
        """The hash of the layer's inputs. An unchanged layer is not built again."""
        return dependencies_hash(self.recipe, self.services, digest(LOCK.read_text()))

    @property
    def core_hash(self) -> str:
        """The hash of the inputs of the layer with the packages `duecourse` and `duecourse_schedules`."""
        return digest(self.recipe, *_contents(CORE), *_contents(ENGINE))

    @property
    def recipe(self) -> str:
        """The steps that build the layers, as a part of their hashes."""
        return f"{RECIPE} {self.python} {self.machine} {'compiled' if self.interpreter else 'source'}"

    def uv_options(self) -> list[str]:
        """Return uv's options for the target."""
        if self.this_machine:
            return ["--python", sys.executable]
        return ["--python-version", self.python, "--python-platform", self.machine]


def install(target: Target, folder: Path) -> None:
    """Create a layer in `folder`: python/ with the parts of the locked packages that functions open."""
    site = folder / "python"
    install_packages(target, site)
    prune(site, target.services)
    compile_all(target, site)


def install_packages(target: Target, site: Path) -> None:
    """Install the locked packages in `site`. Raises BundlingError."""
    uv = find_uv()
    if uv is None:
        raise BundlingError("uv is required to build the dependencies layer, but was not found; run make setup")
    command = [uv, "pip", "install", "--quiet", "--target", str(site), *target.uv_options()]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--link-mode", "copy", "-r", str(LOCK)]
    try:
        run([*command, "--offline"], "uv's cache lacks a package")
    except BundlingError:
        run(command, "the dependencies layer could not be built with uv")


def install_core(target: Target, folder: Path) -> None:
    """Create a layer in `folder`: python/ with the packages `duecourse` and `duecourse_schedules`."""
    copy_core(folder)
    compile_all(target, folder / "python")


def copy_core(folder: Path) -> None:
    """Copy the packages `duecourse` and `duecourse_schedules` to python/ in `folder`."""
    copy_code(CORE, folder)
    copy_code(ENGINE, folder / "python")


def copy_code(source: Path, folder: Path) -> None:
    """Copy the files of `source` to `folder`."""
    for file in _files(source):
        copy = folder / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def compile_all(target: Target, site: Path) -> None:
    """Compile the packages if there is an interpreter of the target's version. A layer is read-only. Without compiled
    packages, every cold start would compile all imports again, which takes most of a second. On AWS, the
    compiled files name their sources by the folder there, and not by one of this machine.
    """
    if (interpreter := target.interpreter) is not None:
        command = [interpreter, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        command += [] if target.this_machine else ["-s", str(site.parent), "-p", LAYERS]
        run([*command, str(site)], "the packages of a layer could not be compiled")


def function_hash(folder: Path, recipe: str = RECIPE) -> str:
    """Return the hash of the packaged files of a function's folder."""
    return digest(recipe, *_contents(folder))


def _files(source: Path) -> list[Path]:
    """Return the files of a layer or function, without caches, hidden files and the client's packages."""
    hidden = ("__pycache__", ".")
    files = (file.relative_to(source) for file in source.rglob("*") if file.is_file())
    shown = (file for file in files if not any(part.startswith(hidden) for part in file.parts))
    return sorted(source / file for file in shown if not CLIENT_SIDE.intersection(file.parts[:3]))


def _contents(source: Path) -> list[str]:
    return [digest_of(file, source) for file in _files(source)]


def digest_of(file: Path, root: Path) -> str:
    """Return a file's path in `root` and a hash of its content."""
    return f"{file.relative_to(root)} {hashlib.sha256(file.read_bytes()).hexdigest()}"


def digest(*parts: str) -> str:
    """Return one hash of all parts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def run(command: list[str], failure: str) -> None:
    """Run a tool. Raises BundlingError with its output if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BundlingError(f"{failure}:\n{done.stdout}{done.stderr}".rstrip())


def prune(site: Path, services: frozenset[str]) -> None:
    """Remove files that no function opens: commands, caches, tests, other services, and older versions of service
    descriptions.
    """
    known = {folder.name: folder for folder in (site / "botocore" / "data").iterdir() if folder.is_dir()}
    if unknown := services - known.keys():
        raise BundlingError(f"boto3 has no service {', '.join(sorted(unknown))}; correct allowed_targets in the stages")
    others = [folder for name, folder in known.items() if name not in services]
    older = [version for name in services for version in sorted(known[name].iterdir())[:-1]]  # the names are dates
    caches = [*site.rglob("__pycache__"), *site.rglob("tests")]
    for folder in [site / "bin", site / "boto3" / "examples", *others, *older, *caches]:
        shutil.rmtree(folder, ignore_errors=True)
    for file in [site / ".lock", *(site / "botocore" / "data").rglob("examples-1.json")]:
        file.unlink(missing_ok=True)


@jsii.implements(ILocalBundling)
class LocalBundling:
    """CDK's interface for building an asset without Docker."""

    def __init__(self, build: Callable[[Path], None]) -> None:
        self._build = build

    def try_bundle(self, output_dir: str, *_options: Any, **_more: Any) -> bool:
        """Build into CDK's folder. A failure is raised, because there is no Docker image to fall back to."""
        folder = Path(output_dir)
        self._build(folder)
        # Set the modes, because packing keeps them and Lambda reads the files as another user. The umask has no effect
        # then.
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return True


@dataclass(frozen=True, slots=True)
class Made:
    """The content of a layer or function: what it is made from, the hash of that, and the function that makes it in a
    folder.
    """

    source: Path
    hash: str
    build: Callable[[Path], None]


def dependencies(target: Target) -> Made:
    """Return the content of the layer of third-party packages."""
    return Made(LOCK.parent, target.asset_hash, partial(install, target))


def core(target: Target) -> Made:
    """Return the content of the layer with the `duecourse` package."""
    return Made(CORE, target.core_hash, partial(install_core, target))


def function(name: str) -> Made:
    """Return the content of a function's folder."""
    folder = FUNCTIONS / name
    return Made(folder, function_hash(folder), partial(copy_code, folder))


def dependencies_code(target: Target) -> lambda_.Code:
    """Return the layer of third-party packages as an asset."""
    if not prebuilt.exists():
        return _asset(dependencies(target))
    index = prebuilt.index()
    hash_ = dependencies_hash(index.recipe, target.services, index.lock)
    return _asset(Made(prebuilt.FOLDER, hash_, partial(prebuilt.copy_dependencies, target.services)))


def core_code(target: Target) -> lambda_.Code:
    """Return the layer with the `duecourse` package as an asset."""
    return code("core", partial(core, target))


def function_code(name: str) -> lambda_.Code:
    """Return the folder of a function as an asset."""
    return code(name, partial(function, name))


def dependencies_hash(recipe: str, services: frozenset[str], lock: str) -> str:
    """Return the hash of the layer of third-party packages. `lock` is the hash of the lock file."""
    return digest(recipe, *sorted(services), lock)


def code(name: str, made: Callable[[], Made]) -> lambda_.Code:
    """Return a layer or function as an asset: the one that the wheel has under this name, otherwise a new one."""
    if not prebuilt.exists():
        return _asset(made())
    return _asset(Made(prebuilt.FOLDER, prebuilt.index().hashes[name], partial(prebuilt.copy, name)))


def _asset(made: Made) -> lambda_.Code:
    """Return the folder that `made.build` creates as an asset. It is called only if no asset has this hash."""
    return lambda_.Code.from_asset(
        str(made.source),
        asset_hash=made.hash,
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=DockerImage.from_registry("never-used"), local=LocalBundling(made.build)),
    )

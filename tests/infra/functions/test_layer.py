"""The dependencies layer, really built."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Annotations, Match

from benchmarks.cold.functions import ENVIRONMENT
from infra.bundling import (
    LOCK,
    SERVICES,
    BundlingError,
    Target,
    copy_core,
    core_code,
    function_code,
    function_hash,
    install,
    install_core,
    prune,
)
from infra.functions.python_function import PythonRuntime
from infra.settings.targets_config import AllowedTargetsConfig
from infra.stages import STAGES
from infra.stores.encryption import Encryption
from infra.uv import base_python
from tests.support.source import deployed, inside
from tests.support.template import ROOT

FUNCTIONS = ("tick", "dispatch", "execute", "reconcile", "api", "callbacks", "token_claims")


def built(target: Target) -> Path:
    """The layer of a target, kept under .build/ between runs."""
    folder = ROOT / ".build" / "layers" / target.asset_hash[:32]
    if not folder.exists():
        building = folder.with_suffix(".building")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        install(target, building)
        building.replace(folder)
    return folder / "python"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_layers_contain_all_imports_of_the_handlers(name: str, tmp_path: Path) -> None:
    """A handler that finds its settings makes its use case at once, with all that this imports."""
    copy_core(tmp_path)
    paths = [built(Target.host()), tmp_path / "python", ROOT / "functions" / name]
    program = f"import sys; sys.path += {[str(path) for path in paths]!r}; import handler; print(sorted(sys.modules))"
    compiled = f"pycache_prefix={ROOT / '.build' / 'compiled'}"  # not into the layer, which is packed as it is
    done = subprocess.run(
        [base_python(), "-I", "-S", "-X", compiled, "-c", program],
        capture_output=True,
        text=True,
        env=dict(ENVIRONMENT),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if name not in ("api", "callbacks"):
        assert "'pydantic'" not in done.stdout, "only the API pays for pydantic at its cold start"


def test_layers_exclude_modules_that_only_users_install(tmp_path: Path) -> None:
    copy_core(tmp_path)
    packed = [path.relative_to(tmp_path / "python") for path in (tmp_path / "python").rglob("*.py")]
    assert sorted(packed) == [inside(path) for path in deployed()]


def test_layers_for_aws_contain_wheels_for_arm64_and_its_python() -> None:
    site = built(Target.lambda_arm64("3.14"))
    libraries = [path.name for path in site.rglob("*.so")]
    assert libraries
    assert all("aarch64" in name for name in libraries)
    assert any("cpython-314" in name for name in libraries)


def test_layers_dependencies_leave_room_for_the_code() -> None:
    files = [path for path in built(Target.lambda_arm64("3.14")).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 40_000_000  # Lambda unpacks at most 250 MB
    assert len(files) < 2_500


def test_layers_core_is_precompiled_where_its_python_is_available_since_layers_are_read_only(tmp_path: Path) -> None:
    install_core(Target.host(), tmp_path)
    sources = {path.stem for path in (tmp_path / "python" / "duecourse" / "domain").glob("*.py")}
    compiled = {path.name.split(".")[0] for path in (tmp_path / "python" / "duecourse" / "domain").rglob("*.pyc")}
    assert sources
    assert sources <= compiled


def test_layers_core_stays_source_code_without_its_python(tmp_path: Path) -> None:
    nowhere = Target(python="3.99", machine="aarch64-manylinux2014", this_machine=False)
    install_core(nowhere, tmp_path)
    assert nowhere.interpreter is None
    assert list(tmp_path.rglob("*.py"))
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.fixture
def strict_umask() -> Iterator[None]:
    """What is written is its owner's alone unless somebody says otherwise."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("strict_umask")
def test_layers_unpacked_files_are_readable_by_lambda_regardless_of_the_umask(tmp_path: Path) -> None:
    """Lambda reads as another user; the CDK's command line packs the modes that files have here."""
    stack = Stack(App(outdir=str(tmp_path), analytics_reporting=False), "Any")
    for number, code in enumerate((core_code(Target.host()), function_code("tick"), function_code("execute"))):
        code.bind(Stack(stack, f"Part{number}"))
    files = [path for path in tmp_path.rglob("asset.*/**/*") if path.is_file()]
    assert {"handler.py", "version.py"} <= {path.name for path in files}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}
    folders = {path.parent for path in files}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o755}


def test_layers_function_code_is_repackaged_when_a_file_or_the_packaging_changes(tmp_path: Path) -> None:
    (tmp_path / "handler.py").write_text("handler = print\n")
    once = function_hash(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "handler.cpython-311.pyc").touch()
    assert function_hash(tmp_path) == once
    assert function_hash(tmp_path, recipe="another") != once
    (tmp_path / "handler.py").write_text("handler = repr\n")
    assert function_hash(tmp_path) != once


def test_layers_deployment_as_source_code_is_reported_with_what_to_install() -> None:
    nowhere = Target(python="3.99", machine="aarch64-manylinux2014", this_machine=False)
    assert nowhere.warning is not None
    assert "no python3.99 on the PATH" in nowhere.warning
    assert "uv python install 3.99" in nowhere.warning
    assert Target.host().warning is None


@pytest.mark.parametrize("there", [True, False])
def test_layers_stack_warning_remains_until_its_python_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    if there:  # says that it is 3.14, which is all that is asked of it without bundling
        python = tmp_path / "python3.14"
        python.write_text("#!/bin/sh\necho 3.14\n")
        python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    app = App(analytics_reporting=False, context={"aws:cdk:bundling-stacks": []})
    stack = Stack(app, "Any")
    encryption = Encryption(stack, "Encryption", key=None, name="any", retain=False)
    PythonRuntime(stack, "Python", config=STAGES["prod"], encryption=encryption)
    found = Annotations.from_stack(stack).find_warning("*", Match.string_like_regexp("no python3.14 on the PATH"))
    assert len(found) == (0 if there else 1)


def test_layers_unchanged_lock_is_not_rebuilt() -> None:
    assert Target.host().asset_hash == Target.host().asset_hash
    assert Target.lambda_arm64("3.14").asset_hash != Target.lambda_arm64("3.13").asset_hash
    assert LOCK.read_text()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Installed packages, as far as the pruning looks at them."""
    for name in ("sqs/2012-11-05", "dynamodb/2011-12-05", "dynamodb/2012-08-10", "ecs/2014-11-13", "iot/2015-05-28"):
        folder = tmp_path / "botocore" / "data" / name
        folder.mkdir(parents=True)
        for file in ("service-2.json.gz", "examples-1.json"):
            (folder / file).touch()
    (tmp_path / "botocore" / "data" / "endpoints.json").touch()
    return tmp_path


def test_layers_called_services_are_described_in_their_newest_version(site: Path) -> None:
    prune(site, frozenset({"sqs", "dynamodb", "ecs"}))
    kept = {str(path.relative_to(site / "botocore" / "data")) for path in site.rglob("*") if path.is_file()}
    assert kept == {
        "endpoints.json",
        "dynamodb/2012-08-10/service-2.json.gz",
        "ecs/2014-11-13/service-2.json.gz",
        "sqs/2012-11-05/service-2.json.gz",
    }


def test_layers_allowed_call_of_a_service_unknown_to_boto3_is_refused(site: Path) -> None:
    with pytest.raises(BundlingError, match=r"boto3 has no service states; correct allowed_targets"):
        prune(site, frozenset({"sqs", "states"}))


def test_layers_services_that_the_stage_may_call_are_included() -> None:
    allowed = AllowedTargetsConfig(actions=("batch:SubmitJob", "ecs:UpdateService", "batch:CancelJob"))
    assert allowed.services == {"batch", "ecs"}
    assert Target.host(allowed.services).services == SERVICES | {"batch"}
    assert Target.host(allowed.services).asset_hash != Target.host().asset_hash

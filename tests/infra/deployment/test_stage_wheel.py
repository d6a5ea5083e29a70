"""A stage without a checkout: the construct in its wheel, the how-to for CI, and the file of a release."""

import json
import re
import shlex
import shutil
import stat
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from tests.integration.packaging.test_wheel import metadata
from tests.support.pages import steps
from tests.support.released import install, released, run
from tests.support.template import ROOT, synthesise

APP = """
import sys
from aws_cdk import App
from duecourse_cdk import DuecourseStage
app = App(outdir=sys.argv[1], analytics_reporting=False)
DuecourseStage(app, "Duecourse-prod", settings={settings!r})
app.synth()
"""
PAGE = ROOT / "docs" / "howto" / "ci.md"
SETTINGS: dict[str, Any] = {
    "alarm_email": "you@example.com",
    "oidc_keys": ["first"],
    "allowed_targets": {"actions": ["glue:StartJobRun"], "roles": ["duecourse-target-*"]},
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tools of an environment with nothing but `pip install "duecourse-cdk[stage]"`."""
    return install(tmp_path_factory.mktemp("machine") / "env", "duecourse-cdk[stage]")


@pytest.fixture(scope="module")
def first(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an app that was synthesised there."""
    folder = tmp_path_factory.mktemp("app") / "first"
    synthesised(empty, folder, SETTINGS)
    return folder / "out"


def read(assembly: Path) -> dict[str, Any]:
    template: dict[str, Any] = json.loads((assembly / "Duecourse-prod.template.json").read_text())
    return template


def synthesised(empty: Path, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The template of an app in an empty folder."""
    folder.mkdir()
    (folder / "app.py").write_text(APP.format(settings=settings))
    run(folder, "python", "-I", "app.py", str(folder / "out"), path=(empty,))
    return read(folder / "out")


def test_stage_wheel_synthesises_the_template_of_a_checkout_and_the_same_twice(
    empty: Path, first: Path, tmp_path: Path
) -> None:
    made = read(first)
    assert made == synthesised(empty, tmp_path / "second", SETTINGS)
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in SETTINGS.items()}
    context = {"stage": "prod", "aws:cdk:bundling-stacks": [], **texts}
    assert made == synthesise(tmp_path / "ours", context).get_stack_by_name("Duecourse-prod").template


def test_stage_wheel_has_the_code_of_each_function_and_services_that_only_some_stages_call(first: Path) -> None:
    made = read(first)
    code = [
        each["Properties"].get("Code") or each["Properties"]["Content"]
        for each in made["Resources"].values()
        if each["Type"] in {"AWS::Lambda::Function", "AWS::Lambda::LayerVersion"}
    ]
    files = {first / f"asset.{each['S3Key']}" for each in code}
    names = set[str]()
    for file in files:
        with ZipFile(file) as archive:
            assert {stat.S_IMODE(entry.external_attr >> 16) for entry in archive.infolist()} == {0o644}
            names |= set(archive.namelist())
    assert {"handler.py", "python/duecourse/limits.py", "python/boto3/__init__.py"} <= names
    assert any(name.startswith("python/botocore/data/glue/") for name in names)
    assert any(name.startswith("python/botocore/data/kms/") for name in names)
    assert any(name.endswith(".cpython-314-aarch64-linux-gnu.so") for name in names)
    assert any(re.fullmatch(r"files/.*\.html\.br", name) for name in names)


def test_stage_wheel_and_its_layers_name_no_folder_of_this_machine(tmp_path: Path) -> None:
    (wheel,) = released().glob("duecourse_stage-*.whl")
    here = [str(ROOT).encode(), sys.prefix.encode(), gettempdir().encode() + b"/tmp"]  # tempfile's own names
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    for packed in tmp_path.glob("duecourse_stage/prebuilt/*.zip"):
        with ZipFile(packed) as archive:
            contents = [(f"{packed.name}/{name}", archive.read(name)) for name in archive.namelist()]
        assert not [name for name, content in contents for each in here if each in content]
    texts = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".zip"]
    assert not [path for path in texts for each in here if each in path.read_bytes()]
    assert not [path for path in texts if re.search(r"^\s*(from|import) infra\b", path.read_text(), re.MULTILINE)]


def test_stage_wheel_leaves_the_others_as_small_as_before(tmp_path: Path) -> None:
    limits = {"duecourse": 2_000_000, "duecourse_cdk": 50_000, "duecourse_stage": 24_000_000}
    sizes = {file.name.partition("-")[0]: file.stat().st_size for file in released().glob("*.whl")}
    assert sizes.keys() == limits.keys()
    assert not {name: size for name, size in sizes.items() if size > limits[name]}
    (constructs,) = released().glob("duecourse_cdk-*.whl")
    with ZipFile(constructs) as archive:
        archive.extractall(tmp_path)
    required = metadata(tmp_path).requires or []
    assert [each for each in required if "extra ==" not in each] == ["aws-cdk-lib<3,>=2.200", "constructs<11,>=10"]


def test_stage_wheel_is_named_if_it_is_not_installed(tmp_path: Path) -> None:
    program = "try:\n    from duecourse_cdk import DuecourseStage\nexcept ImportError as error:\n    print(error)"
    said = run(tmp_path, "python", "-c", program, path=(install(tmp_path / "env", "duecourse-cdk"),))
    assert said == 'DuecourseStage is in a package of its own; run pip install "duecourse-cdk[stage]"\n'


def test_stage_wheel_works_with_the_how_to_for_ci(empty: Path, tmp_path: Path) -> None:
    """Its files are written to an empty folder, and each command of the workflow is run. The CDK's command line is
    real for `synth`; deployments are recorded.
    """
    files = {name: text for step in steps(PAGE) for name, text in step.files.items()}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copytree(released(), tmp_path / "wheels", ignore=shutil.ignore_patterns("*.tgz"))
    tools = tmp_path / "tools"
    tools.mkdir()
    real = shlex.quote(str(ROOT / "node_modules" / ".bin" / "cdk"))
    for name, script in {
        "npx": f'shift 2; case $1 in synth) exec {real} "$@";; *) echo "$@" >> deployments;; esac',
        "aws": "echo",
        "pip": 'test "$*" = "install -r requirements.txt"',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)

    workflow = yaml.safe_load(files[".github/workflows/deploy.yml"])
    assert workflow["permissions"] == {"id-token": "write", "contents": "read"}
    (job,) = workflow["jobs"].values()
    assert job["environment"] == "prod"
    installed = install(tmp_path / "env", "-r", str(tmp_path / "requirements.txt"))
    for command in (step["run"] for step in job["steps"] if "run" in step):
        run(tmp_path, "bash", "-e", "-c", command, path=(tools, installed))

    first, second = (tmp_path / "deployments").read_text().splitlines()
    assert first == f"{second} -c deletion_protection=off"
    assert second == "deploy --require-approval never"
    template = json.loads((tmp_path / "cdk.out" / "Duecourse.template.json").read_text())
    roles = [each["Properties"] for each in template["Resources"].values() if each["Type"] == "AWS::IAM::Role"]
    assert all("duecourse-boundary" in json.dumps(role["PermissionsBoundary"]) for role in roles)
    assert all({"Key": "cost-center", "Value": "1234"} in role["Tags"] for role in roles)
    assert "/cdk-bootstrap/duecourse/version" in json.dumps(template["Parameters"])
    artifacts = json.loads((tmp_path / "cdk.out" / "manifest.json").read_text())["artifacts"].values()
    (stack,) = (each for each in artifacts if each["type"] == "aws:cloudformation:stack")
    assert stack["properties"]["stackName"] == "Duecourse-prod"
    assert "cdk-duecourse-deploy-role" in stack["properties"]["assumeRoleArn"]

"""The file of a release: what `duecourse deploy` accepts of it and of the settings."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from duecourse.cli.commands.deploy import deploy
from duecourse.cli.deployment.assembly import Assembly, Chosen, chosen
from duecourse.cli.terminal import UsageError
from duecourse.version import VERSION
from scripts.release.assembly import (
    ORIGIN,
    PLACEHOLDERS,
    SETTINGS,
    VARIANTS,
    AssemblyError,
    description,
    with_parameters,
)

MAIL = "you@example.com"
JWT = {
    "alarm_email": MAIL,
    "issuer": "https://login.example.com",
    "audience": "one,two",
    "console_client": "console",
}


def archive(path: Path, *, described: str | None = None, **files: bytes) -> Path:
    """A file of a release with these files, whose names have `__` for `/`."""
    with tarfile.open(path, "w:gz") as target:
        whole = {"stage.json": (described or description().to_json()).encode(), **files}
        for name, content in whole.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(content)
            target.addfile(entry, io.BytesIO(content))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return archive(tmp_path / "stage.tgz", assets__code=b"code", jwt__manifest=b"jwt", cognito__manifest=b"cognito")


def test_release_file_variant_and_parameters_follow_from_the_settings() -> None:
    assert chosen(description(), {"alarm_email": MAIL}) == Chosen("cognito", {"AlarmEmail": MAIL})
    parameters = {SETTINGS[name].parameter: value for name, value in JWT.items()}
    assert chosen(description(), JWT) == Chosen("jwt", parameters)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "alarm_email must be set"),
        ({"alarm_email": "nobody"}, "alarm_email must be an e-mail address such as you@example.com"),
        ({"alarm_email": 7}, "alarm_email must be an e-mail address such as you@example.com"),
        ({"alarm_email": MAIL, "alarm_mail": MAIL}, r"alarm_mail is not a setting; did you mean alarm_email\?"),
        ({"alarm_email": MAIL, "xyz": 1}, "xyz is not a setting; the settings are alarm_email, issuer, .*"),
        (
            {"alarm_email": MAIL, "shards": 32},
            "shards cannot be set for a file of a release; for other settings, use the construct DuecourseStage .*",
        ),
        (
            {"alarm_email": MAIL, "issuer": "http://login.example.com"},
            "issuer must be an https address such as .*; audience must be set; console_client must be set",
        ),
        (JWT | {"audience": "one, two"}, "audience must be the audience of the tokens, several separated by .*"),
        (JWT | {"console_client": 'a"b'}, "console_client must be the id of a public client of the issuer"),
    ],
)
def test_release_file_refuses_settings_that_it_does_not_have(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        chosen(description(), settings)
    assert re.fullmatch(said, refused.value.message)


def test_release_file_gives_a_variant_with_the_code(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    assembly = Assembly(file)
    assembly.check(VERSION, "prod")
    assembly.write("jwt", folder)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {"code": b"code", "manifest": b"jwt"}


def test_release_file_of_another_release_or_stage_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=rf"is of release {VERSION}, and this command of 9.0.0; install .*=={VERSION}"):
        Assembly(file).check("9.0.0", "prod")
    with pytest.raises(UsageError, match="has the stage prod, not dev; for other settings, use the construct"):
        Assembly(file).check(VERSION, "dev")


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b broken"])
def test_release_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.tgz").write_bytes(content)
    with pytest.raises(
        UsageError, match=r"is not a stage of a release; use a file such as duecourse-1\.0\.0-prod\.tgz"
    ):
        Assembly(tmp_path / "other.tgz")


@pytest.mark.parametrize("name", ["..__outside", "__etc__passwd", "jwt__..", "a__b__c"])
def test_release_file_with_a_path_outside_its_folders_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a stage of a release"):
        Assembly(archive(tmp_path / "stage.tgz", **{name: b""}))


def test_release_file_without_a_valid_description_is_refused(tmp_path: Path) -> None:
    for text in ("[]", "{}", "no JSON", json.dumps({"settings": {"a": ["b"]}, "variants": {}, "others": []})):
        with pytest.raises(UsageError, match="is not a stage of a release"):
            Assembly(archive(tmp_path / "stage.tgz", described=text))


def test_release_file_that_does_not_exist_is_named() -> None:
    done = CliRunner().invoke(deploy, ["nowhere.tgz", "--settings", "prod.json"])
    assert (done.exit_code, done.output) == (2, "duecourse: nowhere.tgz: No such file or directory\n")


def test_release_file_is_not_deployed_to_a_local_stack(file: Path, tmp_path: Path) -> None:
    settings = tmp_path / "prod.json"
    settings.write_text(json.dumps({"alarm_email": MAIL}))
    environment = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}
    done = CliRunner().invoke(deploy, [str(file), "--settings", str(settings)], env=environment)
    assert done.exit_code == 2
    assert "AWS_ENDPOINT_URL is http://127.0.0.1:4566, a local stack instead of AWS" in done.output


def template(**texts: Any) -> dict[str, Any]:
    resource = {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": texts}}}
    return {"Parameters": {"BootstrapVersion": {}}, "Resources": {"Function": resource}}


def test_release_file_template_has_parameters_instead_of_placeholders() -> None:
    whole = {**PLACEHOLDERS, "audience": [PLACEHOLDERS["audience"]]}
    inside = {"json": f'{{"issuer": "{PLACEHOLDERS["issuer"]}"}}', "connect": ORIGIN}
    made = with_parameters(template(**whole, **inside), VARIANTS["jwt"])
    issuer = {"Ref": "Issuer"}
    origin = {"Fn::Join": ["", ["https://", {"Fn::Select": [2, {"Fn::Split": ["/", issuer]}]}]]}
    assert made["Resources"]["Function"]["Properties"]["Environment"]["Variables"] == {
        "alarm_email": {"Ref": "AlarmEmail"},
        "issuer": issuer,
        "audience": {"Fn::Split": [",", {"Ref": "Audience"}]},
        "console_client": {"Ref": "ConsoleClient"},
        "json": {"Fn::Join": ["", ['{"issuer": "', issuer, '"}']]},
        "connect": origin,
    }
    assert made["Parameters"].keys() == {"BootstrapVersion", "AlarmEmail", "Issuer", "Audience", "ConsoleClient"}
    assert made["Parameters"]["AlarmEmail"]["AllowedPattern"] == SETTINGS["alarm_email"].pattern


def test_release_file_template_never_has_a_parameter_without_effect() -> None:
    with pytest.raises(AssemblyError, match="alarm_email does not occur in the template"):
        with_parameters(template(other="text"), ("alarm_email",))
    versioned = template(alarm_email=PLACEHOLDERS["alarm_email"])
    version = {"Type": "AWS::Lambda::Version", "Properties": {"FunctionName": {"Ref": "Function"}}}
    versioned["Resources"]["Version"] = version
    with pytest.raises(AssemblyError, match="Function has versions, which parameters do not change"):
        with_parameters(versioned, ("alarm_email",))

"""`DuecourseStage` in a user's app: its settings, and the limits that are checked when the app is synthesised."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack

from infra.construct import DuecourseStage
from infra.settings.config import ConfigError
from tests.support.template import template

UNBUILT: dict[str, Any] = {"aws:cdk:bundling-stacks": []}
MAIL = {"alarm_email": "you@example.com"}


def test_construct_within_a_stack_differs_from_a_checkout_in_names_of_permissions_only(tmp_path: Path) -> None:
    file = tmp_path / "prod.json"
    file.write_text(json.dumps(MAIL))
    app = App(context=UNBUILT, analytics_reporting=False)
    stage = DuecourseStage(Stack(app, "Platform"), "Jobs", settings=file, deletion_protection=False)
    assert (stage.stack_name, stage.termination_protection) == ("Duecourse-prod", False)
    made = app.synth().get_stack_artifact(stage.artifact_id).template["Resources"]
    ours = template("prod", **MAIL, deletion_protection="off")["Resources"]
    kinds = {
        resources[name]["Type"] for resources in (made, ours) for name in made.keys() ^ ours.keys() if name in resources
    }
    assert kinds == {"AWS::Lambda::Permission"}
    assert len(made) == len(ours)


def test_construct_reports_sizes_that_aws_refuses() -> None:
    app = App(context=UNBUILT)
    names = [f"duecourse-target-{number:03}-{'x' * 40}" for number in range(90)]
    DuecourseStage(app, "Jobs", settings={"allowed_targets": {"functions": names}})
    with pytest.raises(RuntimeError) as refused:
        app.synth()
    assert "and Lambda allows 4096: shorten allowed_targets" in str(refused.value)
    assert "and IAM allows 10240: shorten allowed_targets" in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "options", "said"),
    [
        ({"shard": 4}, {}, r"settings: shard is not a setting; did you mean shards\?"),
        ({"shards": "many"}, {}, "shards must be a whole number"),
        ({}, {"stage": "local"}, "stage 'local' is for the local stack"),
        ({}, {"stage": "staging"}, "stage must be one of"),
        ("nowhere.json", {}, "nowhere.json cannot be read: No such file or directory"),
        (
            {},
            {"env": Environment(region="cn-north-1")},
            "auth.kind must be jwt or iam, because Cognito has no user pools",
        ),
    ],
)
def test_construct_refuses_settings_as_a_checkout_does(settings: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        DuecourseStage(App(context=UNBUILT), "Jobs", settings=settings, **options)

"""The stage as a construct for a user's own CDK app, from the wheel `duecourse-stage` (docs/howto/deploy.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import Environment, IStackSynthesizer, PermissionsBoundary, Stage, Token
from aws_cdk import aws_iam as iam
from constructs import Construct, IValidation

from infra import prebuilt
from infra.settings.config import ConfigError, StageConfig
from infra.settings.deployment_settings import checked_settings, read_settings
from infra.settings.places import placed
from infra.sizes import size_problems
from infra.stack import DuecourseStack
from infra.stages import from_context


class DuecourseStage(DuecourseStack):
    """A stage: a stack of its own, named `Duecourse-<stage>`, with all resources of Duecourse.

    Tags, permissions boundaries and aspects of the app apply to it as to any stack. The stack uses the CDK's feature
    flags with which the stage is tested, and not those of the app.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Mapping[str, Any] | Path | str,
        stage: str = "prod",
        deletion_protection: bool = True,
        env: Environment | None = None,
        permissions_boundary: PermissionsBoundary | None = None,
        synthesizer: IStackSynthesizer | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """`settings` are the settings of the stage (docs/operations.md), or the path of a JSON file with them. `stage`
        is its name; with a name other than prod and dev, the settings need `like`. `deletion_protection` must be False
        for the deployment that creates the stage, because CloudFormation could not roll it back otherwise, and for the
        last one before the stage is deleted. The other arguments are those of a Stack. Raises ConfigError.
        """
        config = _config(stage, settings, deletion_protection)
        if config.runs_on_this_machine:
            raise ConfigError(f"stage {stage!r} is for the local stack; use prod, dev, or another name with like")
        around = Stage.of(scope)  # gives its region and account to stacks without their own
        places = [each for each in (env, around) if each is not None]
        region = next(filter(None, (_known(each.region) for each in places)), "")
        account = next(filter(None, (_known(each.account) for each in places)), "")
        if config.standby is not None and not region:
            raise ConfigError(f"stage {stage!r}: set the region in env, because standby makes one template for each")
        config = placed(config, region, account)
        super().__init__(
            scope,
            config,
            construct_id=construct_id,
            flags=feature_flags(),
            env=env,
            permissions_boundary=permissions_boundary,
            synthesizer=synthesizer,
            tags=None if tags is None else dict(tags),
        )
        self.node.add_validation(_Sizes(self))


@jsii.implements(IValidation)
class _Sizes:
    """The limits that depend on the values of several settings, checked when the app is synthesized."""

    def __init__(self, stack: DuecourseStack) -> None:
        self._stack = stack

    def validate(self) -> list[str]:
        """Return each exceeded limit."""
        return list(size_problems({"Resources": dict([*self._functions(), *self._policies()])}))

    def _functions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each function with its environment, which a function of the CDK does not return before the
        synthesis.
        """
        for name, function in self._stack.functions.items():
            variables = self._stack.resolve(function.environment)
            yield name, {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}

    def _policies(self) -> Iterator[tuple[str, dict[str, Any]]]:
        resolve = self._stack.resolve
        for each in self._stack.node.find_all():
            if isinstance(each, iam.CfnPolicy):
                properties = {"Roles": resolve(each.roles), "PolicyDocument": resolve(each.policy_document)}
                yield resolve(each.logical_id), {"Type": each.cfn_resource_type, "Properties": properties}


def _known(place: str | None) -> str:
    """Return a region or account, or an empty text if it is not known before the deployment."""
    return "" if place is None or Token.is_unresolved(place) else place


def _config(stage: str, settings: Mapping[str, Any] | Path | str, deletion_protection: bool) -> StageConfig:
    """Return the configuration of the stage. Raises ConfigError."""
    if isinstance(settings, Mapping):
        given = checked_settings(settings, "settings")
    else:
        given = read_settings(Path(settings), str(settings))
    more = {"stage": stage} | ({} if deletion_protection else {"deletion_protection": "off"})
    return from_context({**given, **more}.get)


def feature_flags() -> Mapping[str, Any]:
    """Return the feature flags of the CDK in cdk.json, with which the stage is tested."""
    if prebuilt.exists():
        return prebuilt.index().flags
    context = json.loads((Path(__file__).resolve().parent.parent / "cdk.json").read_text(encoding="utf-8"))["context"]
    return {name: value for name, value in context.items() if name.startswith("@aws-cdk/")}

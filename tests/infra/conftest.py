"""The synthesised templates, as plain data."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from infra.settings.stores_config import OWN
from infra.stages import STAGES
from tests.support.template import template


@dataclass(frozen=True)
class Stack:
    """The template of one stage, with methods for the tests."""

    stage: str
    template: dict[str, Any]

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the properties of all resources of a type, by logical id."""
        found = {name: each for name, each in self.template["Resources"].items() if each["Type"] == kind}
        return {name: each.get("Properties", {}) for name, each in found.items()}

    def resource(self, name: str) -> dict[str, Any]:
        """Return a resource with its attributes."""
        found: dict[str, Any] = self.template["Resources"][name]
        return found

    def output(self, name: str) -> str:
        """Return the logical id that an output refers to."""
        value = self.template["Outputs"][name]["Value"]
        return str(value.get("Ref") or value["Fn::GetAtt"][0])

    def function(self, output: str) -> dict[str, Any]:
        """Return the properties of the function that an output names."""
        found: dict[str, Any] = self.resource(self.output(output))["Properties"]
        return found

    def functions(self) -> dict[str, dict[str, Any]]:
        """Return all functions of the project, by the name of their output without its suffix."""
        names = [name for name in self.template["Outputs"] if name.endswith("Function")]
        return {name.removesuffix("Function"): self.function(name) for name in names}

    def consumer(self, mapping: dict[str, Any]) -> str:
        """Return the logical id of the function that an event source mapping invokes, directly or through its alias."""
        target = mapping["FunctionName"]
        if "Ref" in target:
            return str(target["Ref"])
        arn, ending = target["Fn::Join"][1]
        assert ending == ":live"
        alias = arn["Fn::Select"][1]["Fn::Split"][1]["Ref"]
        return str(self.resource(alias)["Properties"]["FunctionName"]["Ref"])

    def environment(self, output: str) -> dict[str, str]:
        """Return a function's variables, with logical ids in place of names that are known at deployment."""
        variables = self.function(output)["Environment"]["Variables"]
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in variables.items()}

    def statements(self, role: str) -> list[dict[str, Any]]:
        """Return all statements of the policies of a role."""
        policies = self.resources("AWS::IAM::Policy").values()
        ours = [policy for policy in policies if {"Ref": role} in policy["Roles"]]
        return [statement for policy in ours for statement in policy["PolicyDocument"]["Statement"]]

    def consumers(self) -> dict[str, dict[str, Any]]:
        """Return the event source mappings by the logical id of their queue."""
        mappings = self.resources("AWS::Lambda::EventSourceMapping").values()
        return {mapping["EventSourceArn"]["Fn::GetAtt"][0]: mapping for mapping in mappings}


LANE_OUTPUTS = tuple(f"Lane{name}{of}Url" for name in ("High", "Normal", "Low", "Long") for of in ("", "Bulk"))


@pytest.fixture(params=sorted(STAGES))
def stack(request: pytest.FixtureRequest) -> Stack:
    """Each stage in turn."""
    return Stack(request.param, template(request.param))


@pytest.fixture(params=sorted(set(STAGES) - {"local"}))
def aws_stack(request: pytest.FixtureRequest) -> Stack:
    """Each stage for AWS."""
    return Stack(request.param, template(request.param))


@pytest.fixture
def prod() -> Stack:
    """The stage that retains its data."""
    return Stack("prod", template("prod"))


@pytest.fixture
def keyed() -> Stack:
    """The stage that retains its data, with its own key."""
    return Stack("prod", template("prod", encryption_key=OWN))


@pytest.fixture
def local() -> Stack:
    """The stage for the emulator."""
    return Stack("local", template("local"))

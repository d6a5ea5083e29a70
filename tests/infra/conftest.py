"""Templates as the tests see them: synthesised once, then plain data."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from infra.settings.stores_config import OWN
from infra.stages import STAGES
from tests.support.template import template


@dataclass(frozen=True)
class Stack:
    """One stage's template with the questions that the tests ask of it."""

    stage: str
    template: dict[str, Any]

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Properties of all resources of a type, by logical id."""
        found = {name: each for name, each in self.template["Resources"].items() if each["Type"] == kind}
        return {name: each.get("Properties", {}) for name, each in found.items()}

    def resource(self, name: str) -> dict[str, Any]:
        """A resource with its attributes."""
        found: dict[str, Any] = self.template["Resources"][name]
        return found

    def output(self, name: str) -> str:
        """The logical id that an output refers to."""
        value = self.template["Outputs"][name]["Value"]
        return str(value.get("Ref") or value["Fn::GetAtt"][0])

    def function(self, output: str) -> dict[str, Any]:
        """The properties of the function that an output names."""
        found: dict[str, Any] = self.resource(self.output(output))["Properties"]
        return found

    def functions(self) -> dict[str, dict[str, Any]]:
        """All our functions, by the name of their output without its ending."""
        names = [name for name in self.template["Outputs"] if name.endswith("Function")]
        return {name.removesuffix("Function"): self.function(name) for name in names}

    def consumer(self, mapping: dict[str, Any]) -> str:
        """The logical id of the function that an event source mapping invokes, by itself or by its alias."""
        target = mapping["FunctionName"]
        if "Ref" in target:
            return str(target["Ref"])
        arn, ending = target["Fn::Join"][1]
        assert ending == ":live"
        alias = arn["Fn::Select"][1]["Fn::Split"][1]["Ref"]
        return str(self.resource(alias)["Properties"]["FunctionName"]["Ref"])

    def environment(self, output: str) -> dict[str, str]:
        """A function's variables, with logical ids where the deployment puts names."""
        variables = self.function(output)["Environment"]["Variables"]
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in variables.items()}

    def statements(self, role: str) -> list[dict[str, Any]]:
        """All statements of the policies of a role."""
        policies = self.resources("AWS::IAM::Policy").values()
        ours = [policy for policy in policies if {"Ref": role} in policy["Roles"]]
        return [statement for policy in ours for statement in policy["PolicyDocument"]["Statement"]]

    def consumers(self) -> dict[str, dict[str, Any]]:
        """Event source mappings by the logical id of their queue."""
        mappings = self.resources("AWS::Lambda::EventSourceMapping").values()
        return {mapping["EventSourceArn"]["Fn::GetAtt"][0]: mapping for mapping in mappings}


LANE_OUTPUTS = tuple(f"Lane{name}{of}Url" for name in ("High", "Normal", "Low", "Long") for of in ("", "Bulk"))


@pytest.fixture(params=sorted(STAGES))
def stack(request: pytest.FixtureRequest) -> Stack:
    """Each stage in turn."""
    return Stack(request.param, template(request.param))


@pytest.fixture(params=sorted(set(STAGES) - {"local"}))
def aws_stack(request: pytest.FixtureRequest) -> Stack:
    """Each stage that is made for AWS."""
    return Stack(request.param, template(request.param))


@pytest.fixture
def prod() -> Stack:
    """The stage that keeps its data."""
    return Stack("prod", template("prod"))


@pytest.fixture
def keyed() -> Stack:
    """The stage that keeps its data, under a key of its own."""
    return Stack("prod", template("prod", encryption_key=OWN))


@pytest.fixture
def local() -> Stack:
    """The stage for the emulator."""
    return Stack("local", template("local"))

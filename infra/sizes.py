"""Limits of AWS that depend on the values of several settings, checked after the template is synthesized. AWS would
refuse the deployment after some minutes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

MAX_ENVIRONMENT_BYTES = 4_096
"""The maximum size of all environment variables of a function (AWS Lambda Developer Guide, "Lambda quotas")."""

MAX_POLICY_CHARACTERS = 10_240
"""The maximum size of the inline policies of a role, without white space (IAM User Guide, "IAM and AWS STS quotas")."""

REFERENCE = "x" * 60
"""The length of a value that AWS knows only during the deployment: the name of a table or of a queue. The literal parts
of ARNs are counted.
"""


def size_problems(template: Mapping[str, Any]) -> Iterator[str]:
    """Yield each function and role of a template that exceeds a limit, with the settings that cause it."""
    policies: Counter[str] = Counter()
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::Lambda::Function":
                values = properties.get("Environment", {}).get("Variables", {})
                size = sum(len(key) + len(str(_known(value)).encode()) for key, value in values.items())
                if size > MAX_ENVIRONMENT_BYTES:
                    yield (
                        f"the environment of {name} has {size} bytes, and Lambda allows {MAX_ENVIRONMENT_BYTES}: "
                        "shorten allowed_targets (patterns with *), connectors or result_buckets"
                    )
            case "AWS::IAM::Policy":
                for role in properties.get("Roles", ()):
                    policies[json.dumps(role)] += _characters(properties["PolicyDocument"])
            case "AWS::IAM::Role":
                for policy in properties.get("Policies", ()):
                    policies[json.dumps({"Ref": name})] += _characters(policy["PolicyDocument"])
    for role, size in policies.items():
        if size > MAX_POLICY_CHARACTERS:
            yield (
                f"the inline policies of the role {json.loads(role).get('Ref', role)} have {size} characters, and IAM "
                f"allows {MAX_POLICY_CHARACTERS}: shorten allowed_targets (patterns with *)"
            )


def _characters(document: Any) -> int:
    return len(json.dumps(_known(document), separators=(",", ":")))


def _known(value: Any) -> Any:
    """Return a value as it will be deployed, with REFERENCE for each value that is not known yet."""
    match value:
        case {"Fn::Join": [str() as separator, list() as parts]}:
            return separator.join(str(_known(part)) for part in parts)
        case dict() if len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")):
            return REFERENCE
        case dict():
            return {name: _known(each) for name, each in value.items()}
        case list():
            return [_known(each) for each in value]
        case _:
            return value

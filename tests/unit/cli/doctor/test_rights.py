"""The rights that docs/operations.md names for the doctor are those that it needs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import botocore.session
from botocore import xform_name

from tests.support.source import PACKAGE

ROOT = Path(__file__).resolve().parents[4]
SERVICES = ("cloudformation", "cloudwatch", "dynamodb", "events", "lambda", "sqs")


def named() -> set[str]:
    """Actions of the policy in the section about them."""
    section = (ROOT / "docs" / "operations.md").read_text().split("### Rights of the doctor")[1]
    found = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert found is not None
    (statement,) = json.loads(found.group(1))["Statement"]
    return set(statement["Action"])


def used() -> set[str]:
    """Operations that the code calls or pages through, of the services that it asks."""
    sources = (PACKAGE / "duecourse" / "cli" / "doctor").glob("*.py")
    code = "\n".join(source.read_text() for source in sources)
    called = set(re.findall(r"\.\s*(\w+)\(", code)) | set(re.findall(r'get_paginator\("(\w+)"\)', code))
    asked = set(re.findall(r'clients\("(\w+)"\)', code))
    assert asked <= set(SERVICES)
    session = botocore.session.get_session()
    names = {(service, name) for service in SERVICES for name in session.get_service_model(service).operation_names}
    return {f"{service}:{name}" for service, name in names if xform_name(name) in called}


def test_the_policy_in_the_docs_lets_the_doctor_look_and_nothing_else() -> None:
    assert used() == named()

"""What is sent to queues and topics."""

from __future__ import annotations

import json
import re

import pytest

from duecourse.adapters.targets.invocation import message_text
from duecourse.domain.targets.targets import SnsTarget, SqsTarget
from tests.support.calls import a_call

ALLOWED = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
"""The characters of a message (Amazon SQS API Reference, "SendMessage")."""


@pytest.mark.parametrize("target", [SqsTarget("work"), SnsTarget("news")])
@pytest.mark.parametrize(
    "payload",
    ["\ufffe", {"\uffff": ["a\uffffb\ufffe", r"\ufffe", "\\\uffff"]}, "\0\x1f\x7f\x85\u2028", "\U0001fffe\U0010ffff"],
)
def test_a_message_holds_no_character_that_is_refused_and_reads_as_the_payload_was(
    target: SqsTarget | SnsTarget, payload: object
) -> None:
    text = message_text(a_call(target, payload=payload))
    assert ALLOWED.fullmatch(text)
    assert json.loads(text)["payload"] == payload

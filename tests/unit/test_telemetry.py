"""Log lines are written whatever their facts are called."""

from __future__ import annotations

import json
import logging
from io import StringIO

import pytest
from aws_lambda_powertools import Logger, Metrics

from duecourse.telemetry import loggable, publish
from duecourse.usecases.report import Event, Report


@pytest.mark.parametrize("name", ["created", "name", "args", "message", "module", "process"])
def test_a_fact_whose_name_logging_keeps_for_itself_is_told_under_another(name: str) -> None:
    assert loggable({name: 1, "job_id": "nightly"}) == {f"{name}_": 1, "job_id": "nightly"}
    out = StringIO()
    logger = Logger(service=f"test-{name}", level=logging.INFO, stream=out)
    publish(Report(events=[Event("told", {name: 1})]), logger, Metrics(namespace="Duecourse"))
    (line,) = [json.loads(text) for text in out.getvalue().splitlines()]
    assert (line["action"], line[f"{name}_"]) == ("told", 1)

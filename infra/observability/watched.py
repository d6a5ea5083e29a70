"""What alarms and dashboards look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_sqs as sqs

from infra.functions.python_function import PythonFunction
from infra.parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """`functions` by the first part of their outputs' names; `archive_source`: the id of the event source by which the
    archive reads the stream; `letters`: queues of failures beside the lanes' dead letters, by who could not do its
    work.
    """

    parts: Parts
    functions: Mapping[str, PythonFunction]
    archive_source: str
    api_id: str
    letters: Mapping[str, sqs.IQueue]

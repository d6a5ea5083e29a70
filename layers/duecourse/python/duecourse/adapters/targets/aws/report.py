"""Reports as targets: the audit function makes them, which has the permissions to read jobs and records."""

from __future__ import annotations

from functools import partial
from typing import Self

import orjson

from duecourse.adapters.targets.aws.aws_call import ClientFor, ServiceCaller, attempted, wait_of
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.domain.maintenance.report import outcome_of, report_request
from duecourse.domain.targets.targets import Failed, Outcome, ReportTarget
from duecourse.ports import Call, Clock

_MARGIN_SECONDS = 3.0
"""The audit function has this much less time than the worker, at most a tenth of it, so that its response arrives
before the worker stops waiting.
"""


class ReportCaller(ServiceCaller):
    """Invokes the audit function. A repeated call only reads."""

    def __init__(self, clock: Clock, client_for: ClientFor, arns: Arns, function: str) -> None:
        super().__init__(clock, client_for, arns)
        self._function = function

    @classmethod
    def made_of(cls, means: Means, client_for: ClientFor) -> Self:
        """Return the caller of a process."""
        return cls(means.clock, client_for, means.arns, means.audit_function)

    def call(self, call: Call, target: ReportTarget) -> Outcome:
        """Return the report about the window that ends at the run's occurrence."""
        return attempted("the report", call, self._clock, partial(self._made, call, target))

    def _made(self, call: Call, target: ReportTarget, deadline: Deadline) -> Outcome:
        left = deadline.left()
        request = report_request(call.run, call.job, target, left - min(_MARGIN_SECONDS, left / 10))
        given = self._client_for(wait_of(deadline)).invoke(
            FunctionName=self._function,
            InvocationType="RequestResponse",
            Payload=orjson.dumps({"report": request.document()}),
        )
        with given["Payload"] as stream:
            body: bytes = stream.read()
        if word := given.get("FunctionError"):
            text = f"the report failed ({word})"
            return Failed(text, code="report_failed", detail=body.decode(errors="replace"))
        try:
            return outcome_of(orjson.loads(body))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            # An audit function of an earlier release does not know reports, and one of a region that does not work
            # returns nothing.
            text = "the report failed: the audit function returned no report"
            return Failed(text, code="report_failed", detail=type(problem).__name__)

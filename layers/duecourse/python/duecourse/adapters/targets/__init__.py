"""Targets: what a run calls. One module a kind, chosen here by the target's type and nothing else."""

from __future__ import annotations

from functools import partial
from typing import Self, assert_never

from duecourse.adapters.aws import clients
from duecourse.adapters.targets.http import HttpCaller
from duecourse.adapters.targets.lambda_function import LambdaCaller
from duecourse.domain.targets import HttpTarget, LambdaTarget, Outcome
from duecourse.ports import Call, Clock


class Targets:
    """Calls any target. A new kind is a new module and a new case; the type checker names every place that lacks it."""

    def __init__(self, http: HttpCaller, functions: LambdaCaller) -> None:
        self._http = http
        self._functions = functions

    @classmethod
    def create(cls, *, private: bool, clock: Clock) -> Self:
        """The callers of a worker; `private` allows HTTP targets at addresses that are not public."""
        lambda_client = partial(clients().calling, "lambda")
        return cls(HttpCaller(clock, private=private), LambdaCaller(clock, lambda_client))

    def call(self, call: Call) -> Outcome:
        """Call the target and judge its answer; never raises for what the target does."""
        match call.job.target:
            case HttpTarget() as target:
                return self._http.call(call, target)
            case LambdaTarget() as target:
                return self._functions.call(call, target)
            case other:
                assert_never(other)

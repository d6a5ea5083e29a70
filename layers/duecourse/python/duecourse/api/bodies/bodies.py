"""Bodies of requests read by their models, for every route but those that take a whole job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from duecourse.api.bodies.jsontext import unfit
from duecourse.api.bodies.models import Body
from duecourse.api.bodies.validation import faults_in
from duecourse.api.problems.problems import FieldFault, invalid
from duecourse.api.request import Request

Model = TypeVar("Model", bound=Body)


def read_body(
    request: Request,
    model: type[Model],
    *,
    optional: bool = False,
    kind: str = "invalid-command",
    more: Callable[[Mapping[str, Any]], Iterable[FieldFault]] = lambda _: (),
    apart: str | None = None,
) -> Model:
    """The request's body. One that is `optional` may be left out, which says as much as an empty object.

    `more` says what else is wrong with a body in which nothing is so far; what stands in the field `apart` is looked at
    by somebody else. Raises Problem: what `Request.json` raises, and `kind` with all that is wrong with it.
    """
    if optional and not request.body:
        return model()
    value = request.json()
    looked_at = {**value, apart: None} if apart is not None and isinstance(value, dict) else value
    faults = {fault.pointer: fault for fault in unfit(looked_at)}
    body: Model | None = None
    try:
        body = model.model_validate(value)
    except ValidationError as error:
        for fault in faults_in(error, model):
            faults.setdefault(fault.pointer, fault)
    if isinstance(value, dict) and not faults:
        faults = {fault.pointer: fault for fault in more(value)}
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""), kind)
    return body

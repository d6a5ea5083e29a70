"""Query parameters that several lists take."""

from __future__ import annotations

import re
from collections.abc import Mapping

from duecourse.api.bodies.definition_body import TAG_PATTERN
from duecourse.api.problems.problems import bad_parameter
from duecourse.domain.ids import is_id
from duecourse.domain.runs.run import RunState
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.parsed_input import read_instant

MAX_ERROR_TEXT = 200
"""Characters of a text that errors are searched for."""

LINE_PATTERN = r"[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,%d}"

Query = Mapping[str, str]


def read_states(query: Query) -> tuple[RunState, ...]:
    """The states of `state`, separated by commas (API Gateway joins a repeated parameter so); none if it is left out.
    Raises Problem (400).
    """
    text = query.get("state")
    if text is None:
        return ()
    names = text.split(",")
    if not set(names) <= set(RunState):
        raise bad_parameter("state", f"must be one or more of {', '.join(RunState)}, separated by commas")
    return tuple(state for state in RunState if state in names)


def read_time(query: Query, name: str) -> int | None:
    """An instant (UTC seconds). Raises Problem (400)."""
    text = query.get(name)
    if text is None:
        return None
    try:
        return read_instant(name, text)
    except ScheduleError as error:
        raise bad_parameter(name, f"is wrong: {error.detail}") from None


def read_times(query: Query, begin: str, end: str) -> tuple[int | None, int | None]:
    """Two instants (UTC seconds), the first one earlier. Raises Problem (400)."""
    first, last = read_time(query, begin), read_time(query, end)
    if first is not None and last is not None and first >= last:
        raise bad_parameter(end, f"must be later than {begin}")
    return first, last


def read_job(query: Query, name: str) -> str | None:
    """A job's id. Raises Problem (400)."""
    job_id = query.get(name)
    if job_id is not None and not is_id(job_id):
        raise bad_parameter(name, "must be a job's id: 1 to 64 letters (a-z), digits, - or _")
    return job_id


def read_tag(query: Query) -> str | None:
    """A tag. Raises Problem (400)."""
    tag = query.get("tag")
    if tag is not None and re.fullmatch(TAG_PATTERN, tag) is None:
        raise bad_parameter("tag", "must be one tag: 1 to 64 letters (a-z), digits or _ . : / = + @ -")
    return tag


def read_line(query: Query, name: str, most: int) -> str | None:
    """A text of `most` characters at most, in one line. Raises Problem (400)."""
    text = query.get(name)
    if text is not None and re.fullmatch(LINE_PATTERN % most, text) is None:
        raise bad_parameter(name, f"must have 1 to {most} characters, none of them a control character or a line break")
    return text

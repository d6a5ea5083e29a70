"""Pages: how many items, and from where on. A page token (`cursor` and `next_cursor` in the API) is opaque to callers
and names its own kind and version.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from duecourse.api.bodies.jsontext import write_json
from duecourse.api.problems.problems import bad_parameter
from duecourse.domain.ids import is_id, parse_run_id
from duecourse.domain.json_values import LATEST
from duecourse.domain.runs.states import UNSUCCESSFUL, RunState
from duecourse.ports import StateMark

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Lambda answers with 6 MB at most (quota "Invocation payload", synchronous); some is left for quoting and headers."""

_JOBS = "1j:"
_RUNS = "1r:"
_DEAD = "1d:"
_STATES = "1s:"
_CHANGES = "1c:"
_CHANGE = re.compile(r"[0-9]{13}#[A-Za-z0-9_./-]{1,128}")


def job_page_token(last: str) -> str:
    """Goes on after the job `last`."""
    return _sealed(_JOBS + last)


def read_job_page_token(sealed: str | None) -> str | None:
    """The id after which the page begins."""
    text = _opened(sealed, _JOBS)
    if text is not None and not is_id(text):
        raise _bad_page_token()
    return text


def run_page_token(job_id: str, last: str) -> str:
    """Goes on before the run of that local name."""
    return _sealed(f"{_RUNS}{job_id}.{last}")


def read_run_page_token(sealed: str | None, job_id: str) -> str | None:
    """The local name of the run before which the page begins."""
    text = _opened(sealed, _RUNS)
    if text is None:
        return None
    try:
        name = parse_run_id(text)
    except ValueError:
        raise _bad_page_token() from None
    if name.job_id != job_id:
        raise bad_parameter("cursor", "belongs to another job; begin without a cursor")
    return text.removeprefix(f"{job_id}.")


def dead_page_token(mark: StateMark) -> str:
    """Goes on after the dead run of that mark."""
    return _sealed(f"{_DEAD}{mark.at!r}:{mark.run_id}")


def open_dead_page_token(sealed: str) -> StateMark | None:
    """The mark of a page token; None for what is none."""
    return _mark(_unsealed(sealed, _DEAD), RunState.DEAD)


def state_page_token(mark: StateMark) -> str:
    """Goes on after the run of that mark."""
    return _sealed(f"{_STATES}{mark.state}:{mark.at!r}:{mark.run_id}")


def read_state_page_token(sealed: str | None) -> StateMark | None:
    """The mark after which the page begins."""
    text = _opened(sealed, _STATES)
    if text is None:
        return None
    name, _, rest = text.partition(":")
    mark = _mark(rest, RunState(name)) if name in UNSUCCESSFUL else None
    if mark is None:
        raise _bad_page_token()
    return mark


def _mark(text: str | None, state: RunState) -> StateMark | None:
    at, _, run_id = (text or "").partition(":")
    try:
        since = float(at)
        parse_run_id(run_id)
    except ValueError:
        return None
    # Written for a page or not at all: what is no instant is not passed on to the table (whose numbers are no smaller
    # than 1e-130).
    sound = repr(since) == at and (1 <= since <= LATEST or at == "0.0")
    return StateMark(since, run_id, state) if sound else None


def read_dead_page_token(sealed: str | None) -> StateMark | None:
    """The mark after which the page begins."""
    mark = None if sealed is None else open_dead_page_token(sealed)
    if sealed is not None and mark is None:
        raise _bad_page_token()
    return mark


def fitting(items: Sequence[Mapping[str, Any]]) -> int:
    """How many of the first items fit into one answer; one at least."""
    room = MAX_ANSWER_BYTES
    for count, item in enumerate(items):
        room -= len(write_json(item)) * 2  # the answer is quoted once more on its way out
        if room < 0 and count:
            return count
    return len(items)


def change_page_token(job_id: str, last: str) -> str:
    """Goes on before the change of that place in the job's history."""
    return _sealed(f"{_CHANGES}{job_id}.{last}")


def read_change_page_token(sealed: str | None, job_id: str) -> str | None:
    """The place in the job's history before which the page begins."""
    text = _opened(sealed, _CHANGES)
    if text is None:
        return None
    owner, _, place = text.partition(".")
    if owner != job_id:
        raise bad_parameter("cursor", "belongs to another job; begin without a cursor")
    if _CHANGE.fullmatch(place) is None:
        raise _bad_page_token()
    return place


def _sealed(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _opened(sealed: str | None, kind: str) -> str | None:
    if sealed is None:
        return None
    text = _unsealed(sealed, kind)
    if text is None:
        raise _bad_page_token()
    return text


def _unsealed(sealed: str, kind: str) -> str | None:
    try:
        text = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4)).decode("ascii")
    except ValueError:
        return None
    return text.removeprefix(kind) if text.startswith(kind) and _sealed(text) == sealed else None


def _bad_page_token() -> Exception:
    return bad_parameter("cursor", "is not one of this list; take next_cursor of the page before, or begin without one")

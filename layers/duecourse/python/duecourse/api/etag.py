"""Versions of jobs in headers (RFC 9110): ETag on answers, If-Match and If-None-Match on requests."""

from __future__ import annotations

import re

from duecourse.api.problems.problems import bad_header
from duecourse.api.request import Request
from duecourse.domain.jobs.job import Job
from duecourse.usecases.jobs.job_errors import ANYTHING, Precondition

_TAGS = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"(?:[ \t]*,[ \t]*(?:W/)?"[\x21\x23-\x7e]*")*')
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')
_FORM = 'must be * or the ETag of an answer, such as "1795262400000-1", with its quotes'


def etag_of(job: Job) -> str:
    """The ETag of a job as it is."""
    return f'"{job.version}"'


def read_expected(request: Request) -> Precondition:
    """What If-Match says of the job. A weak tag matches nothing. Raises Problem (400)."""
    text = request.headers.get("if-match")
    if text is None:
        return ANYTHING
    text = text.strip()
    if text == "*":
        return Precondition(exists=True)
    if _TAGS.fullmatch(text) is None:
        raise bad_header("if-match", _FORM)
    return Precondition(frozenset(version for weak, version in _TAG.findall(text) if not weak), exists=True)


def read_absent(request: Request) -> bool:
    """Whether `If-None-Match: *` asks that there be no job yet. Raises Problem (400) for what else it may say."""
    text = request.headers.get("if-none-match")
    if text is None:
        return False
    if text.strip() != "*":
        raise bad_header("if-none-match", "must be *, which creates the job only where there is none")
    return True

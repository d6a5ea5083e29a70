"""Notifications about a job: what it requests in `notify`, `events` and `ping_url` when its runs end, and the documents
of notices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, assert_never

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import DeadlineEvent, EventKind, Job, NoticeCause, NoticeFormat
from duecourse.domain.runs.document import LATE_REASONS, detail_of
from duecourse.domain.runs.states import Cancelled, Dead, Queued, Retrying, Run, Running, Skipped, Succeeded, Waiting
from duecourse.domain.targets.targets import ReportTarget

NOTIFIER = "duecourse:notify"
"""The author of runs that deliver notices. These runs cause no notices, so that jobs cannot notify each other forever.
"""

WINDOW_SECONDS = 600
AT_ONCE = 5
"""The number of notices about a job, of one cause, that a rule delivers immediately within a window of ten minutes. One
digest at the end of the window replaces all further ones.
"""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice about a job. `key` is the same whenever the same event is announced. `at` is the time of the event (UTC
    seconds).
    """

    cause: NoticeCause
    job: Job
    key: str
    at: float
    text: str
    run: Run | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notifications:
    """What a job requests in `notify`, `events` and `ping_url` after something has happened: notices, the details of
    events by their types, and an address to ping.
    """

    notices: Sequence[Notice] = ()
    events: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    ping: str | None = None


def notifications_of(run: Run, job: Job) -> Notifications:
    """Return what the job requests about a record that was just written. A dead step is announced by the notice of its
    workflow's run.
    """
    name, late = run.run_id, run.lateness or 0.0
    notices, events = list[Notice](), dict[str, tuple[EventKind, ...]]()
    match run:
        case Dead():
            events["Run Dead"] = (EventKind.DEATHS, EventKind.FAILURES)
            if not run.is_step:
                error = "" if run.error is None else f": {run.error}"
                text = f"Run {name} of {job.id} failed permanently{error}"
                notices.append(Notice(NoticeCause.DEAD, job, f"dead/{name}/{run.attempt}", run.finished_at, text, run))
        case Retrying():
            events["Attempt Failed"] = (EventKind.FAILURES,)
        case Succeeded():
            events["Run Succeeded"] = ()
            if job.failing is not None:
                key, text = f"recovered/{job.failing}", f"{job.id} has recovered: run {name} succeeded"
                notices.append(Notice(NoticeCause.RECOVERED, job, key, run.finished_at, text, run))
            if isinstance(job.target, ReportTarget):
                notices.append(_report_notice(run, job))
        case Cancelled():
            events["Run Cancelled"] = ()
        case Skipped() if run.reason in LATE_REASONS:
            events["Run Skipped"] = (EventKind.LATE,)
            covered = "" if run.count == 1 else f" ({run.count} occurrences)"
            text = f"Run {name} of {job.id}{covered} did not run: {run.reason}"
            notices.append(Notice(NoticeCause.MISSED, job, f"missed/{name}", float(run.due), text, run))
        case Skipped():
            events["Run Skipped"] = ()
        case Queued() | Running() | Waiting():
            return Notifications()
    if run.attempt == 1 and late > job.missed.grace_seconds:
        text = f"Run {name} of {job.id} started {late:.0f} s late"
        notices.append(Notice(NoticeCause.LATE, job, f"late/{name}", run.due + late, text, run))
    silent = job.expect_every is not None and not run.manual  # it started because no ping arrived
    if run.attempt == 1 and (late > job.missed.grace_seconds or silent):
        events["Run Late"] = (EventKind.LATE,)
    return _requested(run, job, notices, events, ping=job.ping_url if isinstance(run, Succeeded) else None)


def _report_notice(run: Succeeded, job: Job) -> Notice:
    """Return the notice with the report that is the result of a run. A run that was marked as succeeded has none."""
    made = run.result if isinstance(run.result, dict) and isinstance(run.result.get("text"), str) else None
    text = f"Run {run.run_id} of {job.id} succeeded, but has no report" if made is None else made["text"]
    facts = {} if made is None else {"report": made}
    return Notice(NoticeCause.REPORT, job, f"report/{run.run_id}", run.finished_at, text, run, facts)


def deadline_notifications(run: Run, job: Job, deadline: DeadlineEvent, at: int) -> Notifications:
    """Return what the job requests about a missed deadline, which was `at` (UTC seconds)."""
    done = {DeadlineEvent.START: "started", DeadlineEvent.FINISH: "finished"}[deadline]
    text = f"Run {run.name} of {job.id} had not {done} by {to_iso(at)}"
    facts, kind = {"deadline": deadline.value, "deadline_at": to_iso(at)}, "Deadline Missed"
    notice = Notice(NoticeCause.DEADLINE, job, f"deadline/{run.name}/{deadline}", float(at), text, run, facts)
    found = _requested(run, job, [notice], {kind: (EventKind.DEADLINES,)})
    more = facts | {"event": f"{run.tenant}/{run.name}/{deadline}/{kind}"}
    return replace(found, events={name: detail | more for name, detail in found.events.items()})


def pause_notifications(job: Job, because: str, at: float) -> Notifications:
    """Return what the job requests when Duecourse has paused it at `at` (UTC seconds)."""
    text = f"{job.id} was paused: {because}. Resume it after the cause is removed."
    notice = Notice(NoticeCause.PAUSED, job, f"paused/{job.generation}", at, text, facts={"reason": because})
    return Notifications([notice] if NoticeCause.PAUSED in job.notices_wanted else ())


def _requested(
    run: Run, job: Job, notices: Sequence[Notice], events: Mapping[str, tuple[EventKind, ...]], ping: str | None = None
) -> Notifications:
    """Return what the job requests of these notices and events; `events` has the kinds of each type, without ALL."""
    wanted, kinds = frozenset[NoticeCause]() if run.requested_by == NOTIFIER else job.notices_wanted, {*job.events}
    return Notifications(
        [each for each in notices if each.cause in wanted],
        {name: detail_of(run, name) for name, of in events.items() if kinds & {EventKind.ALL, *of}},
        ping,
    )


def sample_notice(job: Job, key: str, at: float) -> Notice:
    """Return a notice that tests the delivery."""
    return Notice(NoticeCause.TEST, job, f"test/{key}", at, f"This is a test of the notices about {job.id}")


def document_of(notice: Notice, form: NoticeFormat) -> Any:
    """Return the document of a notice."""
    run, job = notice.run, notice.job
    plain = {
        "cause": notice.cause.value,
        "text": notice.text,
        "tenant": job.tenant,
        "job_id": job.id,
        "run_id": None if run is None else run.run_id,
        "at": to_iso(int(notice.at)),
        "error": None if run is None else run.error,
        "code": None if run is None else run.code,
        "owner": job.owner or None,
        "runbook_url": job.runbook_url,
        **notice.facts,
    }
    return _formatted(plain, form)


def digest_of(notice: Notice, form: NoticeFormat, since: int) -> Any:
    """Return the document of the digest that replaces this and further notices of the same job and cause in a window
    that begins at `since` (UTC seconds).
    """
    job, begin = notice.job, to_iso(since)
    text = (
        f"There have been more notices ({notice.cause}) about {job.id} since {begin}. "
        f"List its runs: duecourse runs list {job.id} --since {begin}"
    )
    plain = {
        "cause": "digest",
        "digest_of": notice.cause.value,
        "text": text,
        "tenant": job.tenant,
        "job_id": job.id,
        "since": begin,
        "until": to_iso(since + WINDOW_SECONDS),
        "owner": job.owner or None,
        "runbook_url": job.runbook_url,
    }
    return _formatted(plain, form)


def _formatted(plain: Mapping[str, Any], form: NoticeFormat) -> Any:
    """Return the document in this format. Errors and reasons were written by targets, so no text is read as markup: it
    could mention all users of a channel, or hide the address of a link.
    """
    runbook = plain.get("runbook_url")
    match form:
        case NoticeFormat.JSON:
            return dict(plain)
        case NoticeFormat.SLACK:
            text = plain["text"] if runbook is None else f"{plain['text']}\nRunbook: {runbook}"
            return {"text": escape(text, quote=False), "mrkdwn": False}
        case NoticeFormat.TEAMS:
            blocks = [[{"type": "TextRun", "text": plain["text"]}]]
            if runbook is not None:
                opened = {"type": "Action.OpenUrl", "url": runbook}
                blocks.append(
                    [
                        {"type": "TextRun", "text": "Runbook: "},
                        {"type": "TextRun", "text": runbook, "selectAction": opened},
                    ]
                )
            # Unlike a TextBlock, a TextRun has no Markdown, whose escapes not all clients of Teams understand.
            body = [{"type": "RichTextBlock", "inlines": inlines} for inlines in blocks]
            card = {"type": "AdaptiveCard", "version": "1.4", "body": body}
            kind = "application/vnd.microsoft.card.adaptive"
            return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
        case other:
            assert_never(other)

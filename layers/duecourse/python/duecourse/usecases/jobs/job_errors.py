"""Errors of requests about jobs."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.job import Job


class JobExistsError(Exception):
    """The id is taken."""


class JobUnknownError(Exception):
    """There is no job with this id."""


class JobChangedError(Exception):
    """Other requests kept changing the job during this change."""


class JobUnreadableError(Exception):
    """The job (its id is the argument) exists, but its cursor is unreadable or missing."""


class NoPingExpectedError(Exception):
    """The job (its id is the argument) does not expect pings."""


class ShadowJobError(Exception):
    """The job (its id is the argument) is a shadow job, which only a promotion resumes."""


class JobVersionError(Exception):
    """The job, calendar or limit (`kind`) is not in the state that the caller expects. `version` is its current
    version; None if it does not exist. `absent`: the caller expects that it does not exist.
    """

    def __init__(self, version: str | None, *, absent: bool = False, kind: str = "job") -> None:
        super().__init__(version)
        self.version = version
        self.absent = absent
        self.kind = kind


class JobReachError(Exception):
    """A job has none of the `tags` of the caller's tag-scoped permissions."""

    def __init__(self, job_id: str, tags: frozenset[str]) -> None:
        super().__init__(job_id)
        self.job_id = job_id
        self.tags = tags


class KeyReusedError(Exception):
    """The caller's key was used for another request."""


class IdempotencyKeyExpiredError(Exception):
    """The job that was created with the caller's key (its id is the argument) is deleted."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """A caller's expectation about the job. `versions`: the job has one of these versions (None: any). `exists`: the
    job must exist, in a request that could create it. `absent`: it must not exist. `tags`: the caller can only access
    jobs with one of these tags. `seen`: the version whose steps were checked for these tags.
    """

    versions: frozenset[str] | None = None
    exists: bool = False
    absent: bool = False
    tags: frozenset[str] | None = None
    seen: str | None = None

    @property
    def about_version(self) -> bool:
        """Whether the resource must be read before the change."""
        return self.versions is not None or self.exists or self.absent

    def check(self, job: Job | None) -> None:
        """Raise JobReachError, JobVersionError or JobChangedError if the job (None: there is no job) is not as
        expected.
        """
        if job is not None and self.tags is not None and self.tags.isdisjoint(job.tags):
            raise JobReachError(job.id, self.tags)
        self.check_version(None if job is None else job.version)
        if job is not None and self.seen not in (None, job.version):
            raise JobChangedError(job.id)

    def check_version(self, version: str | None, kind: str = "job") -> None:
        """Raise JobVersionError if a job, calendar or limit has another version (None: it does not exist) than
        expected.
        """
        if version is None:
            refused = self.exists
        else:
            refused = self.absent or (self.versions is not None and version not in self.versions)
        if refused:
            raise JobVersionError(version, absent=self.absent, kind=kind)


ANYTHING = Precondition()
"""A precondition without any expectation."""


class PauseEndError(Exception):
    """A pause cannot start (`field`: from) or end at the requested time."""

    def __init__(self, detail: str, field: str = "until") -> None:
        super().__init__(detail)
        self.field = field

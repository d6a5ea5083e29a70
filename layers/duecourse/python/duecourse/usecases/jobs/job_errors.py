"""What can be wrong about a job that is asked for, or asked to change."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.job import Job


class JobExistsError(Exception):
    """The id is taken."""


class JobUnknownError(Exception):
    """There is no such job."""


class JobChangedError(Exception):
    """Somebody else changed the job again and again while it was to be changed."""


class JobUnreadableError(Exception):
    """The job (its id is the argument) is there, but not where it stands: its cursor cannot be read, or is gone."""


class JobVersionError(Exception):
    """The job is not as the caller expects it: `version` is what it is now; None where there is no job. `absent`: the
    caller expects none.
    """

    def __init__(self, version: str | None, *, absent: bool = False) -> None:
        super().__init__(version)
        self.version = version
        self.absent = absent


class KeyReusedError(Exception):
    """The caller's key stands for another request."""


class KeySpentError(Exception):
    """The job that the caller's key created (its id is the argument) is gone."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """What a caller takes the job to be. `versions`: one of these (None: any). `exists`: it must be there at all, where
    it could be created. `absent`: it must not be there.
    """

    versions: frozenset[str] | None = None
    exists: bool = False
    absent: bool = False

    def check(self, job: Job | None) -> None:
        """Raises JobVersionError for a job (None: there is none) that is not as expected."""
        if job is None:
            if self.exists:
                raise JobVersionError(None)
        elif self.absent or (self.versions is not None and job.version not in self.versions):
            raise JobVersionError(job.version, absent=self.absent)


ANYTHING = Precondition()
"""Of a caller who expects nothing."""

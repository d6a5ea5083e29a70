"""What is refused about jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from duecourse.domain.exclusions import ExclusionError
from duecourse.domain.schedule import ScheduleError
from duecourse.http.idempotency import HEADER
from duecourse.http.problems import Fault, Problem, invalid, unknown_job
from duecourse.ports import JobQuotaError, KeyUsedError, StoreBusyError, TasksUnavailableError
from duecourse.settings import ApiSettings
from duecourse.usecases.job_errors import (
    JobChangedError,
    JobExistsError,
    JobUnknownError,
    JobUnreadableError,
    JobVersionError,
    KeyReusedError,
    KeySpentError,
)

RETRY_SECONDS = 5


@contextmanager
def refusing(job_id: str, settings: ApiSettings) -> Iterator[None]:
    """Whatever a use case refuses about this job becomes a Problem."""
    try:
        yield
    except JobUnknownError:
        raise unknown_job(job_id) from None
    except JobVersionError as error:
        raise version_mismatch(error) from None
    except JobChangedError:
        raise changed_meanwhile() from None
    except JobUnreadableError:
        raise unreadable() from None
    except JobExistsError as error:
        raise _exists(str(error)) from None
    except (KeyReusedError, KeySpentError, KeyUsedError) as error:
        raise _key(error) from None
    except JobQuotaError:
        raise _quota(settings.job_quota) from None
    except StoreBusyError:
        raise busy() from None
    except TasksUnavailableError:
        detail = "The registered tasks cannot be looked up just now; nothing was changed."
        raise _later("tasks-unavailable", detail) from None
    except ExclusionError as error:
        raise invalid([Fault(error.detail, f"/exclude/{error.index}")]) from None
    except ScheduleError as error:
        raise invalid([Fault(error.detail, f"/{error.field}")]) from None


def changed_meanwhile() -> Problem:
    """Somebody else was faster, again and again."""
    return Problem(HTTPStatus.CONFLICT, "job-changed", "The job was changed at the same moment; try again.")


def unreadable() -> Problem:
    """409: nothing says where the job stands, so nothing can be said of what a change would make of it."""
    detail = (
        "The job's place in the schedule cannot be read, so it cannot be changed. "
        "Delete it and create it anew, or ask the operator. Nothing was changed."
    )
    return Problem(HTTPStatus.CONFLICT, "job-unreadable", detail)


def busy() -> Problem:
    """503: nothing is wrong with the request."""
    return _later("busy", "Too much is written at this moment; nothing was changed.")


def version_mismatch(error: JobVersionError) -> Problem:
    """412: the caller knows another version of the job than there is."""
    if error.version is None:
        detail, header = "There is no such job to match; leave If-Match out to create it", "if-match"
    else:
        detail = f'The job is at "{error.version}" now; read it again and decide anew'
        header = "if-none-match" if error.absent else "if-match"
    return Problem(
        HTTPStatus.PRECONDITION_FAILED,
        "etag-mismatch",
        f"{detail}. Nothing was changed.",
        faults=[Fault(detail, header=header)],
    )


def _exists(job_id: str) -> Problem:
    fault = Fault("is taken; choose another id, or delete that job first", "/id")
    return Problem(HTTPStatus.CONFLICT, "job-exists", f'There is a job "{job_id}" already.', faults=[fault])


def _quota(quota: int) -> Problem:
    detail = f"There are {quota} jobs, which is the quota (job_quota); delete some, or ask the operator for more."
    return Problem(HTTPStatus.FORBIDDEN, "job-quota", detail)


def _key(error: KeyReusedError | KeySpentError | KeyUsedError) -> Problem:
    match error:
        case KeyReusedError():
            detail = "stands for a request with another body; send a new key with a new request"
            status, kind = HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency-key-reused"
        case KeySpentError():
            detail = f'created the job "{error}", which was deleted since; send a new key to create it anew'
            status, kind = HTTPStatus.CONFLICT, "idempotency-key-spent"
        case _:
            return changed_meanwhile()
    return Problem(status, kind, f"The Idempotency-Key {detail}.", faults=[Fault(detail, header=HEADER)])


def _later(kind: str, detail: str) -> Problem:
    headers = {"retry-after": str(RETRY_SECONDS)}
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, kind, f"{detail} Try again in some seconds.", headers=headers)

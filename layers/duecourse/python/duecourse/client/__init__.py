"""The Python client of the HTTP API: `Client`, and `AsyncClient` with the same methods."""

from duecourse.client.async_client import AsyncClient
from duecourse.client.client import RETRIES, TIMEOUT_SECONDS, Client
from duecourse.client.errors import (
    ApiError,
    ApiUnreachableError,
    ConflictError,
    Fault,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    PreconditionError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from duecourse.client.pagination import AsyncPage, Page
from duecourse.client.signing import Bearer, SigV4

__all__ = [
    "RETRIES",
    "TIMEOUT_SECONDS",
    "ApiError",
    "ApiUnreachableError",
    "AsyncClient",
    "AsyncPage",
    "Bearer",
    "Client",
    "ConflictError",
    "Fault",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "Page",
    "PreconditionError",
    "SigV4",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnavailableError",
]

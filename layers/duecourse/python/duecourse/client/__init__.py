"""The Python client of the HTTP API."""

from duecourse.client.api_call import TIMEOUT_SECONDS, ApiError, ApiUnreachableError
from duecourse.client.client import Client

__all__ = ["TIMEOUT_SECONDS", "ApiError", "ApiUnreachableError", "Client"]

"""The account's quotas of Lambda."""

from __future__ import annotations

from typing import Any


class LambdaAccount:
    """Implementation of ports.ConcurrencyQuota for the account and region of the function."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def executions(self) -> int:
        return int(self._client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"])

"""The Lambda handler of a connector: it sends one HTTP request of a worker from a private network.

It imports neither the wiring nor the telemetry, so that it starts quickly. Lambda logs its exceptions, and the worker
logs the failures of requests.
"""

from __future__ import annotations

import os
from typing import Any

from duecourse.adapters.targets.http.relay import Relay

_relay = Relay.from_env(os.environ)


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Send the request of the event. The response is its answer (duecourse/adapters/targets/http/wire.py)."""
    return _relay(event)

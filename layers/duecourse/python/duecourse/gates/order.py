"""The gates that make runs wait until a known instant."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from duecourse.gates.breaker import BreakerGate
from duecourse.gates.gate import Gate
from duecourse.gates.rate import RateGate

TIMED: tuple[Gate[Any, Any], ...] = (RateGate(), BreakerGate())
"""The gates in the order in which an attempt enters them. A probe is taken last, because it is the scarcest."""

BY_NAME: Mapping[str, Gate[Any, Any]] = MappingProxyType({gate.name: gate for gate in TIMED})

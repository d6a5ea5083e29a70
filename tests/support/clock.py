"""The clock and the randomness of duecourse.testing, under the name by which the tests know them."""

from __future__ import annotations

from duecourse.testing.clock import Numbered, SettableClock

__all__ = ["Numbered", "SettableClock"]

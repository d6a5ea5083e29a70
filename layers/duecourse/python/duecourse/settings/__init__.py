"""Settings: one frozen class per function, read from its environment; see `reading`."""

from duecourse.settings.functions import (
    ApiSettings,
    ArchiveSettings,
    AuditSettings,
    DispatchSettings,
    ExecuteSettings,
    PatrolSettings,
    SweepSettings,
    TickSettings,
)
from duecourse.settings.reading import PREFIX, AllowedTargets, SettingsError

__all__ = [
    "PREFIX",
    "AllowedTargets",
    "ApiSettings",
    "ArchiveSettings",
    "AuditSettings",
    "DispatchSettings",
    "ExecuteSettings",
    "PatrolSettings",
    "SettingsError",
    "SweepSettings",
    "TickSettings",
]

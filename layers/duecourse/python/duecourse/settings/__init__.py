"""Settings: one frozen class per function, read from its environment. See `reading`."""

from duecourse.domain.targets.allowed_targets import AllowedTargets
from duecourse.settings.functions import (
    ApiSettings,
    ArchiveSettings,
    AuditSettings,
    CallbackSettings,
    DispatchSettings,
    ExecuteSettings,
    LaneSettings,
    ReconcilerSettings,
    RepairSettings,
    RoundSettings,
    TableSettings,
    TickSettings,
)
from duecourse.settings.reading import PREFIX, FromEnvironment, SettingsError

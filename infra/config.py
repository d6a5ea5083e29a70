"""What differs between the stages: one frozen, validated `StageConfig` each.

Nothing else in `infra/` asks which stage it builds for: a difference that is not a field here does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LANES = ("high", "normal", "low", "long")
SMALLEST_MAX_CONCURRENCY = 2  # what SQS event sources accept
DISPATCH_TIMEOUT_SECONDS = 50
SHARD_VISIBILITY_SECONDS = 60
LARGEST_SQS_DELAY_SECONDS = 900


class ConfigError(ValueError):
    """A stage that does not exist or a setting that cannot be; names the field and the remedy."""


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """One queue with its workers."""

    timeout_seconds: int
    """The function's timeout; messages are hidden for 30 s more."""
    batch_size: int
    max_concurrency: int
    """Most executions of this lane side by side; keeps a burst from taking the account's whole concurrency."""
    memory_mb: int = 512

    @property
    def visibility_seconds(self) -> int:
        """A little more than the function's timeout, not six times it: repeats are harmless, a long wait is not."""
        return self.timeout_seconds + 30


@dataclass(frozen=True, slots=True)
class ReservedConcurrency:
    """Concurrency kept for the clock and the API, so that a burst of runs cannot starve them; None reserves nothing."""

    tick: int | None = None
    dispatch: int | None = None
    api: int | None = None


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """The HTTP API's guard rails."""

    iam_auth: bool
    requests_per_second: int
    burst: int
    access_logs: bool


@dataclass(frozen=True, slots=True)
class StageConfig:
    """One stage. Validated as a whole when made: every wrong field is named."""

    stage: str
    shards: int
    """Grows on a live system, never shrinks."""
    lanes: Mapping[str, LaneConfig]
    api: ApiConfig
    refuse_plain_http: bool
    """Queues and topics refuse callers without TLS."""
    retain_data: bool
    """Tables outlive the stack and refuse deletion."""
    default_precision: str
    private_targets: str
    lambda_targets: tuple[str, ...]
    """Name patterns of the functions that jobs may call."""
    log_retention_days: int
    runs_on_this_machine: bool = False
    """The functions run on this machine's Python and processor (the local stack) instead of AWS's newest."""
    lead_seconds: int = 300
    reach_seconds: int = 840
    run_retention_days: int = 90
    max_receive_count: int = 5
    catch_up_alarm_size: int = 1_000
    """Missed occurrences within five minutes above which an operator is told."""
    reserved_concurrency: ReservedConcurrency = field(default_factory=ReservedConcurrency)
    alarm_email: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be, all of it at once."""
        wrong = [f"{name} {problem}" for name, problem in self._problems()]
        if wrong:
            raise ConfigError(f"stage {self.stage!r}: " + "; ".join(wrong))

    @property
    def stack_name(self) -> str:
        """The stack's name in the account."""
        return f"Duecourse-{self.stage}"

    @classmethod
    def for_stage(cls, stage: str) -> StageConfig:
        """The configuration of a known stage."""
        if stage not in STAGES:
            raise ConfigError(f"stage must be one of {', '.join(STAGES)}, not {stage!r}: cdk synth -c stage=prod")
        return STAGES[stage]

    @classmethod
    def from_context(cls, context: Callable[[str], Any]) -> StageConfig:
        """The stage that the CDK context names, with what a deployment may set by itself.

        `alarm_email` subscribes an address to the alarms; `reserved_concurrency=none` reserves nothing, for young
        accounts whose concurrency of 10 leaves nothing to reserve.
        """
        config = cls.for_stage(str(context("stage")))
        if email := context("alarm_email"):
            config = replace(config, alarm_email=str(email))
        reserved = context("reserved_concurrency")
        if reserved is not None:
            if reserved != "none":
                raise ConfigError(
                    f"reserved_concurrency can only be set to 'none', not {reserved!r}: see infra/config.py"
                )
            config = replace(config, reserved_concurrency=ReservedConcurrency())
        return config

    def _problems(self) -> list[tuple[str, str]]:
        """Each wrong field with what would be right."""
        checks = [
            ("shards", self.shards >= 1, "must be at least 1"),
            ("lanes", tuple(self.lanes) == LANES, f"must be {', '.join(LANES)}"),
            ("default_precision", self.default_precision in {"second", "exact"}, "must be second or exact"),
            ("private_targets", self.private_targets in {"allow", "refuse"}, "must be allow or refuse"),
            ("lambda_targets", all(p.strip("*") for p in self.lambda_targets), "must not allow every function"),
            ("lead_seconds", self.lead_seconds >= 120, "must be at least 120, or a late tick delays runs"),
            (
                "reach_seconds",
                self.lead_seconds <= self.reach_seconds < LARGEST_SQS_DELAY_SECONDS,
                f"must lie between lead_seconds and {LARGEST_SQS_DELAY_SECONDS - 1}",
            ),
            ("run_retention_days", self.run_retention_days >= 1, "must be at least 1"),
            ("max_receive_count", self.max_receive_count >= 3, "must be at least 3, as throttling counts too"),
            ("catch_up_alarm_size", self.catch_up_alarm_size >= 1, "must be at least 1"),
            ("alarm_email", self.alarm_email is None or "@" in self.alarm_email, "must be an e-mail address"),
        ]
        for name in ("tick", "dispatch", "api"):
            reserved = getattr(self.reserved_concurrency, name)
            least = SMALLEST_MAX_CONCURRENCY if name == "dispatch" else 1
            fits = reserved is None or reserved >= least
            checks.append((f"reserved_concurrency.{name}", fits, f"must be None or at least {least}"))
        for name, lane in self.lanes.items():
            at = f"lanes.{name}"
            concurrency = lane.max_concurrency >= SMALLEST_MAX_CONCURRENCY
            checks += [
                (f"{at}.timeout_seconds", 1 <= lane.timeout_seconds <= 900, "must lie between 1 and 900"),
                (f"{at}.batch_size", 1 <= lane.batch_size <= 10, "must lie between 1 and 10"),
                (f"{at}.max_concurrency", concurrency, f"must be at least {SMALLEST_MAX_CONCURRENCY}"),
                (f"{at}.memory_mb", 128 <= lane.memory_mb <= 10_240, "must lie between 128 and 10240"),
            ]
        return [(name, problem) for name, fine, problem in checks if not fine]


def _lanes(high: int, normal: int, low: int, long: int) -> dict[str, LaneConfig]:
    """The four lanes with their concurrency; jobs of up to 90 s run in the first three, up to 840 s in `long`."""
    short = {"high": high, "normal": normal, "low": low}
    lanes = {name: LaneConfig(timeout_seconds=120, batch_size=10, max_concurrency=most) for name, most in short.items()}
    return {**lanes, "long": LaneConfig(timeout_seconds=900, batch_size=1, max_concurrency=long)}


STAGES: Mapping[str, StageConfig] = {
    "local": StageConfig(
        stage="local",
        shards=2,  # the emulator runs one batch of a FIFO queue at a time
        lanes=_lanes(high=4, normal=4, low=2, long=2),
        api=ApiConfig(iam_auth=False, requests_per_second=1_000, burst=2_000, access_logs=False),
        refuse_plain_http=False,  # the emulator speaks nothing else, on the loopback interface only
        retain_data=False,
        default_precision="exact",  # the emulator delivers delayed messages up to a second late
        private_targets="allow",  # receivers on this machine
        lambda_targets=("duecourse-target-*",),
        log_retention_days=7,
        runs_on_this_machine=True,
    ),
    "dev": StageConfig(
        stage="dev",
        shards=4,
        lanes=_lanes(high=10, normal=10, low=5, long=5),
        api=ApiConfig(iam_auth=True, requests_per_second=50, burst=100, access_logs=True),
        refuse_plain_http=True,
        retain_data=False,
        default_precision="second",
        private_targets="refuse",
        lambda_targets=("duecourse-target-*",),
        log_retention_days=14,
    ),
    "prod": StageConfig(
        stage="prod",
        shards=16,
        lanes=_lanes(high=100, normal=100, low=20, long=50),
        api=ApiConfig(iam_auth=True, requests_per_second=200, burst=400, access_logs=True),
        refuse_plain_http=True,
        retain_data=True,
        default_precision="second",
        private_targets="refuse",
        lambda_targets=("duecourse-target-*",),
        log_retention_days=90,
        reserved_concurrency=ReservedConcurrency(tick=2, dispatch=16, api=50),
    ),
}

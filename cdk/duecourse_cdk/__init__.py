"""Duecourse in a CDK app: jobs and workflows, which are applied when the app is deployed and removed with its stack.
With the extra `stage`, also a stage.
"""

from typing import TYPE_CHECKING, Any

from duecourse_cdk.auth import Auth
from duecourse_cdk.jobs import ScheduledJob, Workflow
from duecourse_cdk.stage import Duecourse

if TYPE_CHECKING:
    from duecourse_stage.construct import DuecourseStage as DuecourseStage

__all__ = ["Auth", "Duecourse", "ScheduledJob", "Workflow"]


def __getattr__(name: str) -> Any:
    """Import `DuecourseStage` on first use. Raises ImportError if the extra is not installed."""
    if name != "DuecourseStage":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from duecourse_stage.construct import DuecourseStage
    except ModuleNotFoundError as error:
        if error.name != "duecourse_stage":
            raise
        raise ImportError(
            'DuecourseStage is in a package of its own; run pip install "duecourse-cdk[stage]"'
        ) from error
    return DuecourseStage

"""Jobs and workflows of Duecourse in a CDK app. They are applied when it is deployed, and removed with its stack."""

from duecourse_cdk.auth import Auth
from duecourse_cdk.jobs import ScheduledJob, Workflow
from duecourse_cdk.stage import Duecourse

__all__ = ["Auth", "Duecourse", "ScheduledJob", "Workflow"]

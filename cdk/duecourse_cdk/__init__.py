"""Duecourse jobs and workflows in a CDK app. They are applied when the app is deployed, and removed with its stack."""

from duecourse_cdk.auth import Auth
from duecourse_cdk.jobs import ScheduledJob, Workflow
from duecourse_cdk.stage import Duecourse

__all__ = ["Auth", "Duecourse", "ScheduledJob", "Workflow"]

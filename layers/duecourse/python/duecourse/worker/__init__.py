"""Workers that process runs on any machine: `Worker`, and the exceptions with which a task controls the result of its
run.
"""

from duecourse.worker.queue import WorkerRun
from duecourse.worker.report import DoNotRetry, Failed, Retry
from duecourse.worker.worker import Worker

__all__ = ["DoNotRetry", "Failed", "Retry", "Worker", "WorkerRun"]

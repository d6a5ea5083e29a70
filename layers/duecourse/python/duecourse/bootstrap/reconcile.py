"""The dead-letter reconciler, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.sqs.received import SqsDeadLetterQueue
from duecourse.adapters.system import Threads
from duecourse.bootstrap.worker_ports import worker_ports
from duecourse.settings import ReconcilerSettings
from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters
from duecourse.usecases.worker.wiring import transitions_of


def reconcile_dead_letters(environ: Mapping[str, str]) -> ReconcileDeadLetters:
    """The dead-letter reconciler of this environment. Raises SettingsError."""
    settings, threads = ReconcilerSettings.from_env(environ), Threads()
    ports = worker_ports(settings, queue=settings.dead_letter_queue_url)
    return ReconcileDeadLetters(
        queue=SqsDeadLetterQueue(client("sqs"), settings.dead_letter_queue_url, threads),
        jobs=ports.jobs,
        runs=ports.runs,
        lanes=ports.lanes,
        clock=ports.clock,
        randomness=ports.randomness,
        transitions=transitions_of(ports, lane=None),
        run_retention_days=settings.run_retention_days,
        executor=threads,
    )

"""The dead-letter reconciler, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.sqs.received import SqsDeadLetterQueue, SqsReceived
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.bootstrap.transitions import stores_of, transitions_of
from duecourse.settings import ReconcilerSettings
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters


def reconcile_dead_letters(environ: Mapping[str, str]) -> ReconcileDeadLetters:
    """The dead-letter reconciler of this environment. Raises SettingsError."""
    settings = ReconcilerSettings.from_env(environ)
    clock, randomness, sqs, threads = SystemClock(), SystemRandomness(), client("sqs"), Threads()
    stores = stores_of(settings.jobs_table, settings.runs_table, settings.shards, clock)
    lanes = SqsLanes(client("sqs", once=True), settings.queue_urls, clock, randomness, bulk_urls=settings.bulk_urls)
    forwarder = Forwarder(
        lanes=lanes,
        received=SqsReceived(sqs, settings.dead_letter_queue_url),
        timers=stores.timers,
        clock=clock,
        lane=None,
    )
    transitions = transitions_of(
        stores,
        forwarder,
        clock,
        topic=settings.deaths_topic_arn,
        bus=settings.bus_name,
        bucket="",
    )
    return ReconcileDeadLetters(
        queue=SqsDeadLetterQueue(sqs, settings.dead_letter_queue_url, threads),
        jobs=stores.jobs,
        runs=stores.runs,
        lanes=lanes,
        clock=clock,
        randomness=randomness,
        transitions=transitions,
        run_retention_days=settings.run_retention_days,
        executor=threads,
    )

"""Measures one case: its sides in turn on one wire, each sample with new messages."""

from __future__ import annotations

import cProfile
import io
import os
import pstats
from collections.abc import Sequence
from time import time

from benchmarks.execute.cases import Case, items, messages
from benchmarks.execute.figures import Measured, Side
from benchmarks.execute.sides import Ours, Quietly, Textbook
from benchmarks.peak import peak_mb
from benchmarks.wire.client import WireAt, wire
from benchmarks.wire.server import TARGET
from duecourse.domain.jobs.job import Job

AnySide = Ours | Quietly | Textbook
PROFILED = 25


def measure(case: Case, runs: int, repeats: int, *, profile: bool) -> Measured:
    """Return the case's figures. Runs in a separate process, since peak memory is measured per process.

    The process uses one core, and the wire may use the others. A function of 512 MB has three tenths of a core (a whole
    one comes with 1,769 MB: "Configure Lambda function memory", AWS Lambda Developer Guide). Threads that really run in
    parallel, and compete for the interpreter's lock, would cause a cost that no worker has.
    """
    with wire() as at:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        jobs = case.jobs(runs, f"{at.secure_url if case.scheme == 'https' else at.url}/{TARGET}", int(time()))
        at.put(items(jobs))
        worker = Ours()
        for _ in range(2):
            _sample(at, worker, jobs)
        peak = peak_mb()  # of the worker alone: the other sides are created afterwards
        sides = (worker, Quietly(), Textbook.create())
        for side in sides:  # clients, connections and compiled schedules are created before the measurement
            _sample(at, side, jobs)
        taken: list[list[Side]] = [[] for _ in sides]
        for turn in range(repeats):
            for place in range(len(sides)):  # the side that begins has colder caches, so the sides begin in turn
                which = (place + turn) % len(sides)
                taken[which].append(_sample(at, sides[which], jobs))
        ours, use_case, textbook = map(_joined, taken)
        return Measured(
            case.says,
            case.most_write_units,
            ours,
            use_case,
            textbook,
            peak_rss_mb=peak,
            profile=_profile(sides[1], jobs) if profile else (),
        )


def _sample(at: WireAt, side: AnySide, jobs: Sequence[Job]) -> Side:
    at.clear()
    at.counts(), at.units()
    events = side.events(messages(list(jobs), int(time())), jobs)
    taken = side.cpu(events)
    counted = at.counts()
    if counted[TARGET] != len(jobs):
        raise AssertionError(f"{side.name} made {counted[TARGET]} calls for {len(jobs)} runs")
    return Side(len(jobs), (taken,), dict(counted), dict(at.units()))


def _joined(samples: list[Side]) -> Side:
    """Return one side with the times of all samples. Requests and units are the same in each sample; otherwise they are
    not a figure.
    """
    first = samples[0]
    if any((each.requests, each.units) != (first.requests, first.units) for each in samples):
        raise AssertionError("samples differ in what they asked for")
    return Side(first.runs, tuple(taken for each in samples for taken in each.cpu), first.requests, first.units)


def _profile(side: Quietly, jobs: Sequence[Job]) -> tuple[str, ...]:
    """Profile the use case with cProfile, one run after another. Return the functions by their own time."""
    events = side.events(messages(list(jobs), int(time())), jobs)
    profiler = cProfile.Profile()
    profiler.runcall(side.one_by_one, events)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(PROFILED)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    begin = next(number for number, line in enumerate(lines) if "ncalls" in line)
    return tuple(line for line in lines[begin:] if line)

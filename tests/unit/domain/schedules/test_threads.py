"""Schedules are shared between the threads of a worker."""

import sys
from concurrent.futures import ThreadPoolExecutor

from duecourse.domain.schedules import ScheduleSpec, compile_schedule
from duecourse.domain.schedules.schedule import forget
from tests.support.schedules import utc


def test_threads_that_share_a_schedule_get_what_each_would_get_alone():
    spec = ScheduleSpec("30 1,2 L,15 * MON#1", "Australia/Lord_Howe", dst_fold="both")
    starts = [utc(f"{year}-{month:02}-03 11:00") for year in range(1990, 2190, 25) for month in (1, 4, 10)]

    def row(start):
        found, at = [], start
        schedule = compile_schedule(spec)
        for _ in range(40):
            at = schedule.next(at)
            found.append(at)
        return found

    alone = [row(start) for start in starts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            forget()
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(row, starts)) == alone
    finally:
        sys.setswitchinterval(interval)

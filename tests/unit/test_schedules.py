"""duecourse.schedules: the engine as programs of the scheduler import it."""

import duecourse_schedules.schedules
from duecourse import schedules


def test_schedules_of_the_package_are_those_of_the_engine() -> None:
    engine = duecourse_schedules.schedules
    assert schedules.__all__ == engine.__all__
    assert all(getattr(schedules, name) is getattr(engine, name) for name in engine.__all__)

"""The helm: the supervisor's part in deciding when pages are visited again.

Every few seconds the reports of a round bring surveys of all partitions; from them comes the course that the next
round tells everybody (schedule/course.py). It is written into the crawl's folder as well: for those who look, and for
the next start, which then need not guess what this crawl can do.
"""

from __future__ import annotations

from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.schedule.course import Course, Survey, steer
from gossamer.settings import ScheduleSettings

COURSE_S = 10.0  # between two courses; less where pages may come again sooner than that


class Helm:
    def __init__(self, folder: CrawlFolder, settings: ScheduleSettings, clock: Clock) -> None:
        self.course = folder.course()
        self._folder = folder
        self._settings = settings
        self._clock = clock
        self._requests: int | None = None  # when the last course was found; None: there was none in this run
        self._found_at = clock.now()

    @property
    def wants_surveys(self) -> bool:
        every_s = min(COURSE_S, max(0.5, self._settings.shortest_s))
        return self._requests is None or self._clock.now() - self._found_at >= every_s

    def take(self, surveys: dict[int, Survey], requests: int) -> Course:
        """A new course, from the surveys of all partitions; `requests`: made by the crawl so far."""
        now = self._clock.now()
        passed_s = now - self._found_at
        fetched = requests - self._requests if self._requests is not None else 0
        self.course = steer(self.course, surveys, fetched / passed_s if passed_s else 0.0, passed_s, self._settings)
        self._requests, self._found_at = requests, now
        self._folder.set_course(self.course)
        return self.course

"""How fresh are the copies? Ninety days of recrawling under a budget, ours beside the optimum and other rules.

    python -m benchmarks.freshness [--pages 100000] [--days 90] [--seed 1] [--json]

A hundred thousand pages on five hundred hosts, all fetched once at the start. The mean time between two changes of a
page is log-normal around that of its host (half of all pages change less than once in 30 days, one in forty more than
twice a day); what a page is worth has a power law (Pareto, 1.2, cut at 10,000). Changes are Poisson. There are visits
for a tenth of the pages each day, one at a time, at equal distances. Freshness is the share of the worth whose copy
is as the page is, over the last 30 days, measured exactly and not by samples.

    ours        the package's own code, page by page: a history of fixed size, a belief, an interval, the census
    optimum     equal intervals that are best for the true rates, which nobody knows
    random      the best rates for visits at random moments (Azar et al. 2018), with the true rates
    uniform     every page as often as any other
    to rate     as often as it changes, with the true rates
    Nutch       AdaptiveFetchSchedule with the values of nutch-default.xml: the interval times 1.4 after a visit
                that found no change, times 0.8 after one that did, within a minute and a year, sync_delta with 0.3.
                It begins with ten days, what the budget allows, instead of 30. It knows no budget: the best pages
                come first, as in its generator.

`noisy` is the same with hosts that say when their pages changed: some rightly, some always "now", some whenever they
were deployed; and with sitemaps, of which some say of every page that it changed today, and some say anything.
Reading a sitemap, once a day, is a visit too.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import time
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer.schedule.change import NEVER, seen
from gossamer.schedule.rate import Belief, belief, change_rate_of, moved, prior_rate
from gossamer.schedule.recrawl import Bounds, adapt, cell_of, interval_s, plan, recount, sooner_s
from gossamer.schedule.trust import UNKNOWN, after_visit, dates_are_trusted, odds_of_announcement
from gossamer.visit_history import ChangeRates, History

Floats = NDArray[np.float64]
DAY_S = 86_400.0
START = 1_700_000_000.0
MEASURED_DAYS = 30
NO_DATES, HONEST, ALWAYS_NOW, DEPLOYED = range(4)  # what a host's dates are
NO_MAP, HONEST_MAP, ALL_CHANGED, ANYTHING = range(4)  # and its sitemap


@dataclass(frozen=True)
class World:
    rates: Floats  # changes a second
    weights: Floats
    hosts: NDArray[np.int64]
    dates: NDArray[np.int64]  # of each host
    maps: NDArray[np.int64]

    @property
    def pages(self) -> int:
        return len(self.rates)


def world(pages: int, seed: int, *, noisy: bool = False) -> World:
    chance = np.random.default_rng(seed)
    hosts = max(10, pages // 200)
    host = chance.integers(0, hosts, pages)
    log_days = math.log(30) + 1.5 * chance.standard_normal(hosts)[host] + 1.5 * chance.standard_normal(pages)
    weights = np.minimum(chance.pareto(1.2, pages) + 1, 10_000)
    dates = chance.choice(4, hosts, p=(0.3, 0.45, 0.1, 0.15)) if noisy else np.zeros(hosts, np.int64)
    maps = chance.choice(4, hosts, p=(0.5, 0.2, 0.15, 0.15)) if noisy else np.zeros(hosts, np.int64)
    return World(np.exp(-log_days) / DAY_S, weights / weights.mean(), host, dates, maps)


class Meter:
    """How long copies were fresh in the days that are measured, and when pages change, drawn at each visit."""

    def __init__(self, world: World, days: float, seed: int) -> None:
        self.begin, self.end = START + (days - MEASURED_DAYS) * DAY_S, START + days * DAY_S
        self.fresh = 0.0
        self.visits = 0
        self.rates = world.rates.tolist()
        self.weights = world.weights.tolist()
        self.chance = random.Random(seed)
        self.visited_at = [START] * world.pages
        self.changes_at = [START + self.chance.expovariate(rate) for rate in self.rates]

    def visit(self, page: int, at: float) -> float | None:
        """When the page changed last, if it has since the last visit. Nothing is remembered: that is Poisson."""
        self.count(page, at)
        first, rate = self.changes_at[page], self.rates[page]
        self.visited_at[page], self.changes_at[page] = at, at + self.chance.expovariate(rate)
        return max(first, at - self.chance.expovariate(rate)) if first < at else None

    def count(self, page: int, at: float) -> None:
        self.visits += at >= self.begin
        until = min(self.changes_at[page], at, self.end)
        self.fresh += self.weights[page] * max(0.0, until - max(self.visited_at[page], self.begin))

    def result(self) -> float:
        for page in range(len(self.rates)):
            self.count(page, self.end)
        return float(self.fresh / sum(self.weights) / (self.end - self.begin))


# --- The rules that know the rates ---


def best_intervals(world: World, budget_per_s: float) -> Floats:
    """The solution with one multiplier, x = rate x interval by interpolation; infinite for those let go."""
    x = np.geomspace(1e-6, 60, 20_000)
    gains = -np.expm1(-x) - x * np.exp(-x)
    low, high = -20.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        share = math.exp(middle) * world.rates / world.weights
        intervals: Floats = np.where(share < gains[-1], np.interp(share, gains, x) / world.rates, np.inf)
        low, high = (middle, high) if (1 / intervals).sum() > budget_per_s else (low, middle)
    return intervals


def best_random(world: World, budget_per_s: float) -> float:
    """The freshness of the best visits at random moments, by its formula: r = sqrt(w d / multiplier) - d."""
    low, high = -20.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        visits = np.maximum(0, np.sqrt(world.weights * world.rates / math.exp(middle)) - world.rates)
        low, high = (middle, high) if visits.sum() > budget_per_s else (low, middle)
    return float((world.weights * visits / (visits + world.rates)).sum() / world.weights.sum())


def at_intervals(world: World, intervals: Floats, days: float, seed: int) -> Meter:
    meter = Meter(world, days, seed)
    chance = np.random.default_rng(seed)
    moments = START + chance.random(world.pages) * intervals
    for page in np.flatnonzero(np.isfinite(moments)).tolist():
        at, step = float(moments[page]), float(intervals[page])
        while at < meter.end:
            meter.visit(page, at)
            at += step
    return meter


# --- Nutch ---


def nutch(world: World, days: float, budget: float, seed: int) -> Meter:
    meter = Meter(world, days, seed)
    rounds = 4  # a day
    interval = np.full(world.pages, 10 * DAY_S)
    fetch_at = START + interval * np.random.default_rng(seed).random(world.pages)
    modified_at = np.full(world.pages, START)
    for number in range(int(days * rounds)):
        now = START + number / rounds * DAY_S
        due = np.flatnonzero(fetch_at <= now)
        room = int(budget / rounds)
        if len(due) > room:
            due = due[np.argpartition(-world.weights[due], room)[:room]]
        for page in due.tolist():
            changed = meter.visit(page, now) is not None
            if changed:
                modified_at[page] = now
            wait = float(interval[page]) * (0.8 if changed else 1.4)
            since = now - modified_at[page]
            wait = min(max(wait, since, 60.0), 365 * DAY_S)
            interval[page], fetch_at[page] = wait, now - 0.3 * since + wait
    return meter


# --- Ours ---


class Ours:
    def __init__(self, world: World, days: float, budget: float, seed: int) -> None:
        self.meter = Meter(world, days, seed)
        self.world, self.budget_per_s, self.days = world, budget / DAY_S, days
        self.weights, self.hosts = world.weights.tolist(), world.hosts.tolist()
        self.bounds = Bounds()
        self.histories: list[History] = [NEVER] * world.pages
        self.said = bytearray(world.pages)
        self.beliefs: list[Belief] = []
        hosts = len(world.dates)
        self.change_rates, self.everywhere = [ChangeRates()] * hosts, ChangeRates()
        self.trust = [UNKNOWN] * hosts
        self.census: dict[int, int] = {}
        self.share, self.multiplier = 1.0, DAY_S
        self.due: list[tuple[float, int]] = []
        self.due_at = [0.0] * world.pages
        self.deployed = random.Random(seed + 1)
        self.pages_of = [np.flatnonzero(world.hosts == host).tolist() for host in range(hosts)]
        self.map_visits = 0

    def run(self) -> Meter:
        first = belief(NEVER, prior_rate(ChangeRates()))
        for page, weight in enumerate(self.weights):
            self.histories[page] = seen(NEVER, START, changed=False)
            self.beliefs.append(first)
            self._recount(page, first, weight)
        self._adapt()
        for page, weight in enumerate(self.weights):
            self._plan(page, START, interval_s(first, weight, self.multiplier, self.bounds))
        step_s, now, overdue = DAY_S / 4, START, 0
        maps = [host for host in range(len(self.trust)) if self.world.maps[host] != NO_MAP]
        while now < self.meter.end:
            spent, room = 0, self.budget_per_s * step_s
            for host in maps[::1] if round((now - START) / step_s) % 4 == 0 else []:
                self._read_map(host, now)
                room -= 1
            # One visit after the other, at equal distances; what comes due meanwhile takes its turn.
            slot_s = step_s / max(room, 1)
            for slot in range(int(room)):
                at = now + slot * slot_s
                while self.due and self.due_at[self.due[0][1]] != self.due[0][0]:
                    heapq.heappop(self.due)
                if self.due and self.due[0][0] <= at:
                    self._visit(heapq.heappop(self.due)[1], at)
                    spent += 1
            now += step_s
            before, overdue = overdue, sum(1 for moment in self.due_at if moment < now)
            self.share = adapt(self.share, spent + overdue - before + overdue / 10, room)
            self._adapt()
        return self.meter

    def _visit(self, page: int, at: float) -> None:
        history, host, weight = self.histories[page], self.hosts[page], self.weights[page]
        before = history.visited_at
        changed_at = self.meter.visit(page, at)
        changed = changed_at is not None
        date = self._date(host, history, changed_at, at)
        trust = self.trust[host]
        if self.said[page]:
            history = msgspec.structs.replace(history, said=self.said[page])
        history = seen(history, at, changed=changed, modified_at=date if dates_are_trusted(trust) else None)
        later = None if date is None or (not changed and date <= before) else date > before
        self.trust[host] = after_visit(trust, changed=changed, dated_later=later, said=self.said[page])
        self.said[page] = 0
        believed = belief(history, prior_rate(self.change_rates[host], self.everywhere))
        change_rate = change_rate_of(believed)
        self.change_rates[host] = moved(self.change_rates[host], history.change_rate, change_rate)
        self.everywhere = moved(self.everywhere, history.change_rate, change_rate)
        self.histories[page] = msgspec.structs.replace(history, change_rate=change_rate)
        self.beliefs[page] = believed
        self._recount(page, believed, weight)
        self._plan(page, at, interval_s(believed, weight, self.multiplier, self.bounds))

    def _date(self, host: int, history: History, changed_at: float | None, at: float) -> float | None:
        """Last-Modified as this host gives it."""
        kind = self.world.dates[host]
        if kind == NO_DATES:
            return None
        if kind == ALWAYS_NOW:
            return at
        truth = changed_at if changed_at is not None else float(history.changed_at)
        return truth if kind == HONEST else max(truth, at - self.deployed.expovariate(1 / (7 * DAY_S)))

    def _read_map(self, host: int, now: float) -> None:
        kind, odds = self.world.maps[host], odds_of_announcement(self.trust[host])
        self.map_visits += now >= self.meter.begin
        for page in self.pages_of[host]:
            if self.said[page] == 2:
                continue
            if kind == ALL_CHANGED or (
                self.deployed.random() < 0.1 if kind == ANYTHING else self.meter.changes_at[page] < now
            ):
                self.said[page] = 2
                age_s, planned_s = now - self.meter.visited_at[page], self.due_at[page] - self.meter.visited_at[page]
                if odds > 1 and planned_s < self.bounds.longest_s:
                    sooner = now + sooner_s(age_s, planned_s, self.beliefs[page], odds)
                    if sooner < self.due_at[page]:
                        self._plan(page, now, sooner - now)
            else:
                self.said[page] = 1

    def _recount(self, page: int, believed: Belief, weight: float) -> None:
        cell = cell_of(believed, weight)
        recount(self.census, self.histories[page].cell, cell)
        self.histories[page] = msgspec.structs.replace(self.histories[page], cell=cell)

    def _plan(self, page: int, at: float, wait_s: float) -> None:
        self.due_at[page] = at + wait_s
        heapq.heappush(self.due, (at + wait_s, page))

    def _adapt(self) -> None:
        budget_per_s = self.budget_per_s * self.share
        self.multiplier, self.bounds = plan(self.census, budget_per_s, Bounds(), self.multiplier)


def compare(pages: int, days: float, seed: int, *, noisy: bool) -> dict[str, dict[str, float]]:
    """Freshness, and visits made as a share of the budget, of each rule."""
    there = world(pages, seed, noisy=noisy)
    budget = pages / 10
    per_s = budget / DAY_S
    allowed = budget * MEASURED_DAYS
    found = {}
    ours = Ours(there, days, budget, seed)
    meters = {"ours": ours.run()}
    meters["ours"].visits += ours.map_visits
    meters["optimum"] = at_intervals(there, best_intervals(there, per_s), days, seed)
    meters["uniform"] = at_intervals(there, np.full(pages, 10 * DAY_S), days, seed)
    meters["to rate"] = at_intervals(there, there.rates.sum() / there.rates / per_s, days, seed)
    meters["Nutch"] = nutch(there, days, budget, seed)
    for name, meter in meters.items():
        visits = meter.visits
        found[name] = {"freshness": meter.result(), "spent": visits / allowed}
    found["random"] = {"freshness": best_random(there, per_s), "spent": 1.0}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare rules for coming again.")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--days", type=float, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for noisy in (False, True):
        started = time.process_time()
        found = compare(arguments.pages, arguments.days, arguments.seed, noisy=noisy)
        if arguments.json:
            print(json.dumps({"noisy": noisy, **found}))
            continue
        took = time.process_time() - started
        print(f"\n{'noisy' if noisy else 'plain'}, {arguments.pages:,} pages, seed {arguments.seed}; {took:.0f} s\n")
        print("| rule | freshness | of the optimum | visits, of the budget |\n|---|---|---|---|")
        best = found["optimum"]["freshness"]
        for name in ("optimum", "ours", "random", "uniform", "to rate", "Nutch"):
            fresh, spent = found[name]["freshness"], found[name]["spent"]
            print(f"| {name} | {fresh:.3f} | {fresh / best:.1%} | {spent:.1%} |")


if __name__ == "__main__":
    main()

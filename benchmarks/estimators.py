"""How good are the estimators of change rates? Their bias and spread against the truth, for 3 to 100 visits.

    python -m benchmarks.estimators [--pages 4000] [--seed 1] [--draw]

Pages with a known rate are visited, at equal intervals or at random ones, and each estimator is asked. A page changes
on average `changes` times between two visits. Bias is the mean error, spread the root of its mean square, both as a
share of the true rate; an estimate above ten times the truth counts as ten times, else one infinite estimate would be
the mean.

    naive       changes seen / time observed
    corrected   Cho and Garcia-Molina's, bias-corrected; for equal intervals only
    likeliest   Cho and Garcia-Molina's, by maximum likelihood, from the list of all visits
    ours        from the history of fixed size, with a prior whose rate is wrong by a factor of three

The last table is what the fixed size costs: the same history without a prior beside the exact one, on the same
visits. `--draw` makes docs/pictures/estimators.svg and estimators-irregular.svg anew.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

from benchmarks import drawing
from gossamer.schedule.change import NEVER, seen
from gossamer.schedule.rate import belief, likeliest, regular

DAY_S = 86_400.0
VISITS = (3, 5, 10, 20, 30, 50, 100)
CHANGES = (0.2, 1.0, 2.0)  # between two visits, on average
MOST = 10.0
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"

Errors = dict[str, list[float]]


def visits_of(chance: random.Random, visits: int, per_visit: float, *, irregular: bool) -> list[tuple[float, bool]]:
    """Intervals, and whether there was a change in each. The true rate is one a day."""
    found = []
    for _ in range(visits):
        interval = per_visit * DAY_S * (chance.lognormvariate(-0.5, 1.0) if irregular else 1.0)
        found.append((interval, chance.random() < -math.expm1(-interval / DAY_S)))
    return found


def estimates(seen_: list[tuple[float, bool]], *, irregular: bool) -> dict[str, float]:
    """As a multiple of the true rate."""
    changed = [interval for interval, has_changed in seen_ if has_changed]
    quiet_s = sum(interval for interval, has_changed in seen_ if not has_changed)
    total_s = quiet_s + sum(changed)
    history, at = seen(NEVER, 1e9, changed=False), 1e9
    for interval, has_changed in seen_:
        at += interval
        history = seen(history, at, changed=has_changed)
    found = {
        "naive": len(changed) / total_s,
        "likeliest": likeliest(changed, quiet_s),
        "ours": belief(history, 1 / (3 * DAY_S)).rate,
    }
    if not irregular:
        found["corrected"] = regular(len(seen_), len(changed), seen_[0][0])
    return {name: min(MOST, rate * DAY_S) for name, rate in found.items()}


def measure(pages: int, seed: int, per_visit: float, *, irregular: bool) -> dict[str, list[tuple[int, float, float]]]:
    """For each estimator: visits, bias and spread."""
    chance = random.Random(seed)
    found: dict[str, list[tuple[int, float, float]]] = {}
    for visits in VISITS:
        errors: Errors = {}
        for _ in range(pages):
            some = visits_of(chance, visits, per_visit, irregular=irregular)
            for name, rate in estimates(some, irregular=irregular).items():
                errors.setdefault(name, []).append(rate - 1)
        for name, all_ in errors.items():
            bias, spread = sum(all_) / pages, math.sqrt(sum(error * error for error in all_) / pages)
            found.setdefault(name, []).append((visits, bias, spread))
    return found


def cost_of_size(pages: int, seed: int, visits: int) -> tuple[float, float]:
    """Mean and greatest difference of ln r between a history of fixed size and the whole list; without a prior."""
    chance = random.Random(seed)
    differences = []
    for _ in range(pages):
        some = visits_of(chance, visits, chance.choice(CHANGES), irregular=True)
        changed = [interval for interval, has_changed in some if has_changed]
        quiet_s = sum(interval for interval, has_changed in some if not has_changed)
        if changed and quiet_s:
            history, at = seen(NEVER, 1e9, changed=False), 1e9
            for interval, has_changed in some:
                at += interval
                history = seen(history, at, changed=has_changed)
            almost = belief(history, 1 / DAY_S, 1e-9).rate
            differences.append(abs(math.log(almost / likeliest(changed, quiet_s))))
    return sum(differences) / len(differences), max(differences)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the estimators of change rates.")
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", action="store_true")
    arguments = parser.parse_args()
    for irregular in (False, True):
        charts = []
        for per_visit in CHANGES:
            found = measure(arguments.pages, arguments.seed, per_visit, irregular=irregular)
            kind = "random" if irregular else "equal"
            print(f"\n{kind} intervals, {per_visit:g} changes between two visits: bias, spread\n")
            print("| visits | " + " | ".join(found) + " |\n|" + "---|" * (1 + len(found)))
            for row, visits in enumerate(VISITS):
                cells = [f"{lines[row][1]:+.2f}, {lines[row][2]:.2f}" for lines in found.values()]
                print(f"| {visits} | " + " | ".join(cells) + " |")
            for column, title in ((1, "bias"), (2, "spread")):
                lines = {name: [(row[0], float(row[column])) for row in rows] for name, rows in found.items()}
                low, high = (-1.0, 3.0) if column == 1 else (0.0, 4.0)
                name = f"{title}, {per_visit:g} changes a visit, {kind} intervals"
                charts.append(drawing.chart(name, lines, "visits", low, high))
        if arguments.draw:
            PICTURES.mkdir(exist_ok=True)
            drawing.write(PICTURES / ("estimators-irregular.svg" if irregular else "estimators.svg"), charts)
    print("\n| visits | mean difference of ln r by the fixed size | greatest |\n|---|---|---|")
    for visits in (5, 10, 30, 60):
        print("| {} | {:.3f} | {:.2f} |".format(visits, *cost_of_size(arguments.pages, arguments.seed, visits)))


if __name__ == "__main__":
    main()

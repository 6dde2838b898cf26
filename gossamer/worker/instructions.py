"""What a worker does at a partition because an operator wants it: try again what failed, empty the quarantine.

On one machine the supervisor says so while somebody waits for the answer. In a cluster it is an instruction with a
number (node/instructions.py), which the partition remembers, so that it is carried out once.
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.frontier.frontier import Frontier
from gossamer.frontier.retry import retry_all
from gossamer.messages import control_messages, worker_messages
from gossamer.messages.control_messages import ReleaseUrl
from gossamer.messages.worker_messages import Instruct

Wanted = ReleaseUrl | worker_messages.Retry | Instruct


async def carry_out(owned: Callable[[], Frontier | None], wanted: Wanted) -> int | None:
    """How many URLs it concerned; None: the partition is not ours, or not any more."""
    frontier = owned()
    if frontier is None:
        return None
    number, what = (wanted.number, wanted.what) if isinstance(wanted, Instruct) else (None, wanted)
    if number is not None and frontier.instructed and frontier.instructed[-1][0] >= number:
        return 0  # it was told twice
    match what:
        case ReleaseUrl(url=url, drop=drop):
            return int(frontier.release_url(url, drop=drop, instruction=number))
        case control_messages.Retry(host=host, reason=reason) | worker_messages.Retry(host=host, reason=reason):
            count = 0
            for each in [host, *(what.others if isinstance(what, control_messages.Retry) else ())]:
                # Where it was lost and is ours again, its state may be of before: somebody begins the walk anew.
                walked = await retry_all(lambda: frontier if owned() is frontier else None, each, reason)
                if walked is None or owned() is not frontier:
                    return None
                count += walked
        case None:
            count = 0
    if number is not None:
        frontier.note_instruction(number, count)
    return count

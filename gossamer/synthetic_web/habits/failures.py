"""Pages that cannot be fetched, or not at once: error statuses, broken connections, slow and endless answers.

Each kind has a section of its own, and /broken/7 exists only where page 7 carries `server_errors`.
"""

from __future__ import annotations

from gossamer.synthetic_web.answer import Anchor, Answer, Delivery, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import leaf, plain_answer
from gossamer.synthetic_web.pages import Carried

# behaviour -> the section that its pages live in
PLACES = {
    "not_found": "missing",
    "gone": "gone",
    "too_many_requests": "busy",
    "unavailable": "overloaded",
    "server_errors": "broken",
    "resets": "reset",
    "hang_ups": "hang-up",
    "truncated": "truncated",
    "slow": "slow",
    "dripping": "drip",
    "endless": "endless",
    "silent": "silent",
}
BEHAVIOURS = {section: behaviour for behaviour, section in PLACES.items()}
COUNTED = ("busy", "overloaded")  # sections whose answers depend on how often they were asked for


def failure(atlas: Atlas, visit: Visit) -> Answer | None:
    behaviour = BEHAVIOURS[visit.parts[0]]
    page = atlas.page_number(visit.parts[1]) if len(visit.parts) == 2 else None
    if page is None or not atlas.carries(behaviour, visit.host, page):
        return None
    options = atlas.options
    refused = visit.times_asked < options.refusals
    name = f"{behaviour}/{visit.host}/{page}"
    match behaviour:
        case "gone":
            return plain_answer("gone", 410)
        case "server_errors":
            return plain_answer("server_errors", 500)
        case "too_many_requests" if refused:
            return plain_answer("too_many_requests", 429, ("Retry-After", str(options.retry_after_s)))
        case "unavailable" if refused:
            return plain_answer("unavailable", 503)
        case "resets":
            return Answer("resets", delivery=Delivery.RESET)
        case "hang_ups":
            return Answer("hang_ups", delivery=Delivery.HANG_UP)
        case "silent":
            return Answer("silent", delivery=Delivery.SILENT)
        case "truncated":
            return leaf(atlas, "truncated", name, delivery=Delivery.TRUNCATED)
        case "slow":
            return leaf(atlas, "slow", name, wait_s=options.slow_s)
        case "dripping":
            return leaf(atlas, "dripping", name, delivery=Delivery.DRIP, takes_s=options.drip_s)
        case "endless":
            return leaf(atlas, "endless", name, delivery=Delivery.ENDLESS, takes_s=options.drip_s)
        case "not_found":
            return None
        case _:
            return leaf(atlas, behaviour, name)


def _anchors_to(section: str) -> Carried:
    return lambda _atlas, _host, page: [Anchor(f"/{section}/{page}")]


CARRIED = {behaviour: _anchors_to(section) for behaviour, section in PLACES.items()}
SECTIONS = dict.fromkeys(BEHAVIOURS, failure)

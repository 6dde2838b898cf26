"""What `gossamer fetch` says to a person, from the facts of a trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gossamer.records import Reason
from gossamer.text import EXPLAINED, counted, size, span

Facts = dict[str, Any]
LINKS_SHOWN = 10
TEXT_SHOWN = 600  # characters


def trial_text(facts: Facts, *, whole: bool = False) -> str:
    """`whole`: all links and all of the text, and not only their beginning."""
    lines: list[str] = []
    for step in facts["steps"]:
        lines += [step["url"], *(f"  {line}" for line in _step(step))]
    if facts["known"]:
        known = facts["known"]
        asked = f", asked {known['fetched_at']}" if known["fetched_at"] else ""
        lines.append(f"  in the crawl it is {known['state'].replace('_', ' ')}{asked}")
    if facts["page"]:
        lines += (f"  {line}" for line in _page(facts["page"], facts["verdict"], whole=whole))
    lines.append("  nothing was stored")
    return "\n".join(lines)


def _step(step: Facts) -> Iterator[str]:
    if step["reason"] and not step["is_asked"]:
        yield f"not asked for: {EXPLAINED[Reason(step['reason'])]} [{step['reason']}]"
    else:
        yield "accepted by the link filter"
    if step["detail"]:
        yield f"detail: {step['detail']}"
    robots = step["robots"]
    if robots["allowed"] is not None:
        rule = f"line {robots['line']}: {robots['rule']}" if robots.get("rule") else "no rule speaks of it"
        rule = rule if robots["status"] is not None and robots["status"] < 300 else f"status {robots['status']}"
        delay = f", Crawl-delay {robots['crawl_delay_s']:g} s" if robots.get("crawl_delay_s") else ""
        yield f"robots.txt: {'allowed' if robots['allowed'] else 'refused'} ({rule}){delay}"
    if not step["is_asked"]:
        return
    yield from (f"> {line}" for line in (step["request"] or "").rstrip().splitlines())
    yield from (f"< {line}" for line in (step["response"] or "").rstrip().splitlines())
    if step["reason"]:
        yield f"failed: {EXPLAINED[Reason(step['reason'])]} [{step['reason']}]"
    if step["status"] is not None:
        who = f"by {step['ip']} " if step["ip"] else ""
        through = f"through {step['proxy']} " if step["proxy"] else ""
        yield f"answered {who}{through}after {span(step['latency_s'])}, status {step['status']}"
    if step["tls_fault"]:
        yield f"its certificate is not good: {step['tls_fault']}"
    if step["moved_to"]:
        yield f"moved to {step['moved_to']}"


def _page(page: Facts, verdict: Facts | None, *, whole: bool) -> Iterator[str]:
    cut = ", cut" if page["truncated"] else ""
    yield f"content: {size(page['bytes'])} {page['media_type'] or ''}{cut}"
    if verdict is not None:
        yield _verdict(verdict)
    if page["fault"]:
        yield f"could not be read: {page['fault']}"
    for name in ("title", "language", "description", "canonical"):
        if page[name]:
            yield f"{name}: {page[name]}"
    if said := [name for name in ("noindex", "nofollow", "noarchive") if page[name]]:
        yield f"asks for {', '.join(said)}"
    links = page["links"]
    reasons = Counter(link["reason"] for link in links)
    refused = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=str) if reason)
    yield f"{counted(len(links), 'link')}, {reasons[None]} of them would be followed" + (
        f" (not: {refused})" if refused else ""
    )
    for link in links if whole else links[:LINKS_SHOWN]:
        yield f"  {link['url']}" + (f" [{link['reason']}]" if link["reason"] else "")
    if not whole and len(links) > LINKS_SHOWN:
        yield f"  and {len(links) - LINKS_SHOWN} more (--whole)"
    text = page["text"] if whole else page["text"][:TEXT_SHOWN]
    yield f"text: {counted(len(page['text']), 'character')}"
    yield from (f"  {line}" for line in text.splitlines())
    if len(text) < len(page["text"]):
        yield "  ... (--whole)"


def _verdict(verdict: Facts) -> str:
    match verdict["kind"]:
        case "original":
            return "no page of the crawl shows this content, or nearly this text"
        case "unchanged":
            return "as it was at the crawl's last visit"
        case "near":
            share = f" ({verdict['resemblance']:.0%} of the shingles in common)" if verdict["resemblance"] else ""
            return f"nearly the text of {verdict['of']}{share}"
    return f"the same content as {verdict['of']}"

"""The picture of a report: a bar for each crawler's steady pace, with its spread, as SVG and without a library.

The scale is linear and starts at nothing: a bar twice as long is twice as fast.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from gossamer.bench.report import Facts

WIDTH, ROW, LEFT, RIGHT, TOP = 760, 34, 150, 190, 44
OURS, THEIRS, CEILING = "#2f6f8f", "#9aa5ab", "#d9dde0"
STYLE = "font: 13px system-ui, sans-serif; fill: #333"


def svg(facts: Facts) -> str:
    rows = [
        (
            f"{name} {row['version']}",
            row["pages_per_s"],
            row["spread"]["pages_per_s"],
            OURS if is_ours(name) else THEIRS,
        )
        for name, row in facts["crawlers"].items()
    ]
    if facts["ceiling_pages_per_s"]:
        ceiling = facts["ceiling_pages_per_s"]
        rows.append(("nginx, only loaded", ceiling, [ceiling, ceiling], CEILING))
    longest = max((spread[1] for _, _, spread, _ in rows), default=0) or 1
    height = TOP + ROW * len(rows) + 12
    mix = facts["mix"]
    title = (
        f"Pages a second: {mix['hosts']} hosts, pages of {mix['page_bytes'] / 1000:.0f} KB, "
        f"{'TLS' if mix['is_tls'] else 'plain HTTP'}, {facts['machine']['cores']} cores"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="24" style="{STYLE}; font-weight: 600">{escape(title)}</text>',
    ]
    for place, (name, value, (least, most), colour) in enumerate(rows):
        y = TOP + place * ROW
        bar, low, high = ((WIDTH - LEFT - RIGHT) * each / longest for each in (value, least, most))
        factor = facts["ratios"].get(name.split()[0])
        said = f"{value:,.0f}" + (f"  (gossamer: {factor:.1f} times)" if factor else "")
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end" style="{STYLE}">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{bar:.1f}" height="22" fill="{colour}"/>',
            f'<line x1="{LEFT + low:.1f}" x2="{LEFT + high:.1f}" y1="{y + 11}" y2="{y + 11}" stroke="#333"/>',
            f'<text x="{LEFT + high + 8:.1f}" y="{y + 16}" style="{STYLE}">{escape(said)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def is_ours(name: str) -> bool:
    return name == "gossamer"

"""Words that this project does not use any more: whoever reads code, messages, metrics or documents would stumble.

The glossary of ARCHITECTURE.md says which word stands for what; here is the list of those that were replaced. Names
that are stored or that programs outside rely on stay as they were, and are the exceptions below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

# An old word, and what is said instead.
OLD = {
    r"receptions?|Reception": "control server",
    r"lookers?-on": "observer",
    r"desks?|Desk": "context",
    r"helm|Helm": "recrawl coordinator",
    r"Courses?|(?<!of )courses?": "recrawl plan",
    r"[Ss]urveys?": "partition statistics",
    r"[Ss]tandings?": "status, importance",
    r"[Bb]ooks": "archive records, planner state",
    r"[Ll]edgers?": "partition reader",
    r"[Cc]rews?": "worker pool",
    r"vacanc(y|ies)|hired?": "worker that is missing; start",
    r"[Pp]ardon(s|ed|ing)?|pardon_\w+": "release",
    r"[Pp]lant(s|ed)?|Did(?=\()": "AddSeeds, Done",
    r"[Dd]oors?|door_of": "link filter",
    r"[Ss]hel(f|ves)|(Folder|Bucket)Shelf|(open|as)_shelf": "storage",
    r"Series|(Folder|Bucket)Series|SeriesArchive|series_on": "segments",
    r"neighbours|Neighbours?": "peers",
    r"Aside|(?<!set )(?<!put )(?<!sets )(?<!sets them )aside": "sandbox",
    r"esteemed": "with_promised_importance",
    r"Known": "UrlRecord",
    r"[Pp]ages had|(could|can|cannot|could not|to) be had|(was|were|are) (not )?had": "fetched",
}
FILES = [
    path
    for top, kinds in (
        ("gossamer", "py js html css"),
        ("tests", "py"),
        ("benchmarks", "py"),
        ("examples", "py"),
        ("docs", "md"),
    )
    for kind in kinds.split()
    for path in sorted((ROOT / top).rglob(f"*.{kind}"))
] + [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "run")]

# What is stored or read by others, and ordinary English that means itself: where, and what.
ALLOWED = (
    ("*", r"course\.json"),  # a file of every crawl's folder
    ("*", r"aside_bytes"),  # a setting
    ("tests/*/*.py", r"sets?_(later_files|the_general_one)_aside"),
    ("*", r"</?aside>|`aside`|\"aside\": NAVIGATION"),  # an element of HTML
    ("gossamer/maintenance/ranking.py", r'name="standing"'),  # a field of `gossamer rank --json`
    ("tests/maintenance/test_rank.py", r'"standing"'),
    ("gossamer/api/dashboard/charts.js", r"Series"),  # of points over time
)
# A name's parts are words, too: `_` ends one.
WORD = re.compile("|".join(f"(?<![A-Za-z0-9-])(?:{old})(?![A-Za-z0-9-])" for old in OLD))


def old_words(text: str, name: str = "") -> Iterator[str]:
    for where, what in ALLOWED:
        if Path(name).match(where):
            text = re.sub(what, "", text)
    for number, line in enumerate(text.splitlines(), 1):
        for found in WORD.finditer(line):
            yield f"{name}:{number}: {found[0]!r} in {line.strip()[:120]}"


def test_the_old_words_are_gone() -> None:
    found: list[str] = []
    for path in FILES:
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        if name == "ARCHITECTURE.md":
            text = text.partition("## Glossary")[0]  # it says which words are not used
        if path != Path(__file__):
            found += old_words(text, name)
    assert not found, "\n" + "\n".join(found)


def test_an_old_word_is_found() -> None:
    assert len(list(old_words("the crew\nBooks(1)\npages had\nof course, and set aside; a bookshelf", "x.py"))) == 3

"""How good is the main text, and what does it cost as Markdown? Beside trafilatura and resiliparse, on real pages.

    pip install --target peers trafilatura resiliparse lxml_html_clean
    go mod download -json github.com/markusmobius/go-trafilatura@v1.12.2      # says the folder, D below
    PYTHONPATH=.:peers python -m benchmarks.quality.markdown D/test-files --judged D/scripts/comparison/data.go
    PYTHONPATH=.:peers python -m benchmarks.quality.markdown PAGES [--most 300]

The first folder has some 900 pages of news, blogs, shops, forums and offices, of which people have noted what belongs
to the main text and what does not (`with` and `without`). Each note that is found, or is not, is right or wrong;
precision and recall are over all notes. The second is any folder of HTML, such as that of tests/fuzz/debian_pages.py.

Agreement of two is the mean over pages of 2 * (words in common) / (words of both), words counted as often as they
occur, without marks and targets of links. A page that one of them finds empty agrees with nothing.

Time is CPU time for a page, from its bytes to the result, each page once by everyone, in an order that changes. Our
plain text is beside them, by Python and by the native reader. trafilatura makes Markdown with links, tables and
emphasis, resiliparse plain text with links; of both it is the main content alone, without comments.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import NamedTuple

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from gossamer.process import html, native
from gossamer.process.markdown.document import process
from gossamer.process.text import decode

URL = "http://www.example.org/page.html"
PAGE_BYTES_MAX = 2_000_000
Extract = Callable[[bytes], str]
_ENTRY = re.compile(r'\n\t"(?:[^"\\]|\\.)*": \{\n(.*?)\n\t\},', re.DOTALL)
_FIELD = re.compile(r"^\t\t(File|With|Without):\s*(?:\[\]string\{)?(.*?)\}?,$", re.MULTILINE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')
_TARGETS = re.compile(r"\]\([^)\s]*\)|<?https?://\S+")


class Notes(NamedTuple):
    """What people say of one page."""

    belongs: list[str]
    does_not: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description="Main text and Markdown beside trafilatura and resiliparse.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judged", type=Path, help="what belongs to the main text of these pages")
    parser.add_argument("--most", type=int, default=10_000, help="pages, drawn by chance")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    notes = notes_in(arguments.judged) if arguments.judged else {}
    files = [path for path in sorted(arguments.folder.rglob("*.htm*")) if wanted(path, notes)]
    files = Random(1).sample(files, min(arguments.most, len(files)))
    facts = measured(files, notes)
    print(json.dumps(facts) if arguments.json else "\n".join(f"{name:<48} {value}" for name, value in facts.items()))


def wanted(path: Path, notes: dict[str, Notes]) -> bool:
    return (
        path.is_file()
        and path.suffix in (".html", ".htm")
        and path.stat().st_size < PAGE_BYTES_MAX
        and (not notes or path.name in notes)
    )


def extractors() -> dict[str, Extract]:
    trafilatura, resiliparse = import_module("trafilatura"), import_module("resiliparse.extract.html2text")
    reader, why = native.loaded()
    assert reader is not None, why

    def by_trafilatura(body: bytes) -> str:
        found = trafilatura.extract(
            body, output_format="markdown", include_links=True, include_tables=True, include_comments=False, url=URL
        )
        return str(found or "")

    return {
        "markdown": lambda body: process(body, URL).main_text,
        "python": lambda body: html.process(body, URL).main_text,
        "native": lambda body: reader.read(body, URL).main_text,
        "trafilatura": by_trafilatura,
        "resiliparse": lambda body: str(resiliparse.extract_plain_text(decode(body)[0], main_content=True)),
    }


def measured(files: list[Path], notes: dict[str, Notes]) -> dict[str, object]:
    extract, chance = extractors(), Random(2)
    took: dict[str, list[float]] = {name: [] for name in extract}
    agreed: dict[str, list[float]] = {f"{one} and {other}": [] for one, other in combinations(extract, 2)}
    right = {name: Counter[str]() for name in extract}
    body_bytes = 0
    for path in files:
        body, texts = path.read_bytes(), {}
        body_bytes += len(body)
        for name in chance.sample(list(extract), len(extract)):
            started = time.process_time()
            texts[name] = extract[name](body)
            took[name].append(time.process_time() - started)
        texts = {name: plain(text) if name in ("markdown", "trafilatura") else text for name, text in texts.items()}
        words = {name: Counter(re.findall(r"\w+", _TARGETS.sub(" ", text).lower())) for name, text in texts.items()}
        for one, other in combinations(extract, 2):
            agreed[f"{one} and {other}"].append(agreement(words[one], words[other]))
        if path.name in notes:
            for name, text in texts.items():
                judge(notes[path.name], text, right[name])
    facts: dict[str, object] = {"pages": len(files), "mean KB": round(body_bytes / len(files) / 1000, 1)}
    for name, times in took.items():
        facts[f"{name}: ms a page, mean and median"] = f"{mean(times) * 1e3:.2f} {median(times) * 1e3:.2f}"
    if notes:
        for name, counted in right.items():
            facts[f"{name}: precision, recall, F1"] = " ".join(f"{value:.3f}" for value in scores(counted))
    return facts | {f"agreement of {pair}": round(mean(values), 3) for pair, values in agreed.items()}


def plain(markdown: str) -> str:
    """As a reader of Markdown shows it."""
    root = LexborHTMLParser(MarkdownIt("commonmark").enable("table").render(markdown)).root
    return root.text(deep=True) if root is not None else ""


def agreement(one: Counter[str], other: Counter[str]) -> float:
    both = one.total() + other.total()
    return 2 * (one & other).total() / both if both else 1.0


def judge(notes: Notes, text: str, counted: Counter[str]) -> None:
    text = squeezed(text)
    for note in notes.belongs:
        counted["true positive" if squeezed(note) in text else "false negative"] += 1
    for note in notes.does_not:
        counted["false positive" if squeezed(note) in text else "true negative"] += 1


def squeezed(text: str) -> str:
    return "".join(text.split())


def scores(counted: Counter[str]) -> tuple[float, float, float]:
    precision = counted["true positive"] / max(1, counted["true positive"] + counted["false positive"])
    recall = counted["true positive"] / max(1, counted["true positive"] + counted["false negative"])
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def notes_in(source: Path) -> dict[str, Notes]:
    """Of a table in Go: a file, and the texts that do and do not belong."""
    notes = {}
    for entry in _ENTRY.findall(source.read_text(encoding="utf-8")):
        fields = {name: [unquoted(each) for each in _STRING.findall(said)] for name, said in _FIELD.findall(entry)}
        notes[fields["File"][0]] = Notes(fields.get("With", []), fields.get("Without", []))
    return notes


def unquoted(literal: str) -> str:
    return literal[1:-1] if literal.startswith("`") else str(json.loads(literal))


if __name__ == "__main__":
    main()

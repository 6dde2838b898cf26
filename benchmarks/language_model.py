"""Make the model that tells languages (gossamer/process/markup/language.model) from texts that may be used.

    python -m benchmarks.language_model WHEEL [...]

WHEEL are packages that come with translations, as the package index has them: homeassistant and
home-assistant-frontend (Apache-2.0), django (BSD-3-Clause), some 20 MB of text in 40 languages:

    pip download --no-deps --only-binary :all: homeassistant home-assistant-frontend django

What equals the English text is not translated and left out, and so are places for values. Of each language the
commonest runs of three letters and the commonest words are counted, with the ends of words as letters, and the texts
that have a letter; what each tells is the logarithm of its share: naive Bayes. Then the figures are moved until they
tell those very texts apart (logistic regression). No run speaks for a language by more than `SPAN` above the one that
it speaks for least, so that no single word decides.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from gossamer.process.markup import language

LATIN = "en de fr es it pt nl sv da no fi pl cs sk hu ro tr id vi ca hr sl lt lv et eu gl is af sq ga cy"
CYRILLIC = "ru uk bg sr mk be"
MOST = {LATIN: (2000, 800), CYRILLIC: (4000, 2000)}  # runs and words of each language
CHARS = 300_000  # of each language that are counted
SPAN = 6.0  # nats
STEPS = 31  # that a score has
SMOOTHING, KINDS = 0.3, 20_000
TEXTS = 2000  # of each language that are learnt from
STEPS_OF_LEARNING = (0.3, 0.2, 0.1)  # one for each time that all are gone through

_FILE = re.compile(r"/translations/([a-zA-Z]{2}(?:-[A-Za-z0-9]+)?)(?:-[0-9a-f]{8,})?\.json$")
_PO_FILE = re.compile(r"/locale/([a-zA-Z_]+)/LC_MESSAGES/\w+\.po$")
_PO_TEXT = re.compile(r'msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)')
_PLACES = re.compile(r"\{[^{}]*\}|%\(\w+\)[sd]|%[sd]|<[^>]*>|https?://\S+|\[%key.*?%\]|`[^`]*`|&\w+;")
_OF_SCRIPT = {LATIN: re.compile(r"[a-zà-ɏạ-ỹ\s]", re.IGNORECASE), CYRILLIC: re.compile(r"[Ѐ-ӿ\s]")}


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)


def translations(wheels: list[Path]) -> dict[str, set[str]]:
    texts: dict[str, set[str]] = defaultdict(set)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as opened:
            for name in opened.namelist():
                if found := _FILE.search(name):
                    texts[found[1]].update(strings(json.loads(opened.read(name))))
                elif found := _PO_FILE.search(name):
                    said = opened.read(name).decode()
                    texts[found[1]].update(re.sub(r'"\s*"|\\.', "", each[1]) for each in _PO_TEXT.finditer(said))
    merged: dict[str, set[str]] = defaultdict(set)
    for name, some in texts.items():
        code = name.replace("_", "-").lower()
        if code != "sr-latn":
            merged[{"nb": "no"}.get(code, code.partition("-")[0])] |= some
    return merged


def usable(texts: set[str], of_script: re.Pattern[str]) -> list[str]:
    """Those that are mostly in the script, in an order that has nothing to do with what they say."""
    said = [" ".join(_PLACES.sub(" ", text).split()) for text in texts]
    said = [text for text in said if len(text) >= 8 and len(of_script.findall(text)) >= 0.8 * len(text)]
    return sorted(said, key=lambda text: zlib.crc32(text.encode()))


def counted(texts: list[str]) -> list[Counter[str]]:
    """Runs, words, and texts with a letter."""
    counts, chars = [Counter[str](), Counter[str](), Counter[str]()], 0
    for text in texts:
        words = language.words_of(text)
        for count, some in zip(counts, (language.grams_of(words), words, language.letters_of(words)), strict=True):
            count.update(some)
        chars += len(text)
        if chars > CHARS:
            break
    return counts


def table(languages: str, texts: dict[str, set[str]]) -> tuple[list[str], bytes]:
    """Words and runs, and what each tells of each language: a byte a run, language by language."""
    names, of_script = languages.split(), _OF_SCRIPT[languages]
    said = {name: usable(texts[name] - (texts["en"] if name != "en" else set()), of_script) for name in names}
    tried = {name: some[: len(some) // 20] for name, some in said.items()}
    learnt = {name: some[len(some) // 20 :] for name, some in said.items()}
    counts = {name: counted(some) for name, some in learnt.items()}
    runs: dict[str, NDArray[np.float64]] = {}
    for kind, most in enumerate((*MOST[languages], 100)):
        chosen = {each for name in names for each, count in counts[name][kind].most_common(most) if count > 2}
        totals = np.array([counts[name][kind].total() + SMOOTHING * KINDS for name in names])
        for each in sorted(chosen - runs.keys()):  # a word of three letters speaks as the run
            logs = np.log((np.array([counts[name][kind][each] for name in names]) + SMOOTHING) / totals)
            runs[each] = np.maximum(logs - logs.max(), -SPAN)
    place = {each: number for number, each in enumerate(runs)}
    weights = np.array(list(runs.values()))
    weights -= weights.mean(axis=1, keepdims=True)
    print("by counting alone", right(names, tried, place, weights))
    refine(names, learnt, place, weights)
    print("after learning   ", right(names, tried, place, weights))
    weights -= weights.min(axis=1, keepdims=True)
    scores = np.rint(np.minimum(weights / SPAN, 1) * STEPS).astype(np.uint8)
    return list(runs), scores.T.tobytes()


def places_of(text: str, place: dict[str, int]) -> list[int]:
    words = language.words_of(text)
    runs = (*language.grams_of(words), *words, *language.letters_of(words))
    return [place[each] for each in runs if each in place]


def right(names: list[str], tried: dict[str, list[str]], place: dict[str, int], weights: NDArray[np.float64]) -> str:
    """Of texts that nothing was learnt from, a line each."""
    missed, count = Counter[str](), 0
    for name, some in tried.items():
        for text in some[:300]:
            if len(text) >= 25 and (places := places_of(text, place)):
                count += 1
                found = names[int(weights[places].sum(axis=0).argmax())]
                missed[f"{name} as {found}"] += found != name
    return f"{100 * (1 - missed.total() / count):.2f} % right; {missed.most_common(8)}"


def refine(
    names: list[str], learnt: dict[str, list[str]], place: dict[str, int], weights: NDArray[np.float64]
) -> None:
    """Logistic regression by steps, from what was counted on: runs that are in many words are no longer counted as
    often as they occur, and what tells close languages apart counts more."""
    random = Random(1)
    texts = [
        (number, places)
        for number, name in enumerate(names)
        for text in (learnt[name] * (1 + TEXTS // len(learnt[name])))[:TEXTS]
        if len(places := places_of(text, place)) > 20
    ]
    for step in STEPS_OF_LEARNING:
        random.shuffle(texts)
        for number, places in texts:
            weight = 1 / math.sqrt(len(places))
            fits = weights[places].sum(axis=0) * weight
            chances = np.exp(fits - fits.max())
            chances /= chances.sum()
            chances[number] -= 1
            weights[places] -= step * weight * chances  # once, where a run is there twice


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the model of languages.")
    parser.add_argument("wheels", type=Path, nargs="+")
    texts = translations(parser.parse_args().wheels)
    tables = [(languages.split(), *table(languages, texts)) for languages in (LATIN, CYRILLIC)]
    head = json.dumps([[names, runs] for names, runs, _ in tables], ensure_ascii=False, separators=(",", ":"))
    content = head.encode() + b"\0" + b"".join(scores for _, _, scores in tables)
    language.MODEL.write_bytes(zlib.compress(content, 9))
    print(f"{[len(runs) for _, runs, _ in tables]} runs and words, {language.MODEL.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

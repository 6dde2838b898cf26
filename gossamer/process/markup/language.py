"""The language of a text, as an ISO 639-1 code: by its script where that says it, else by its letters and words.

What a page declares (`lang="en-GB"`) is right more often than not, and wrong wherever somebody took over a template.
So a sample of the text is looked at first. If it clearly is in another language than the one declared, the text is
believed; if the declared one fits about as well (Danish and Norwegian do), the declaration is. Where neither says
anything the answer is empty: a wrong language is worse than none.

For the 38 languages in Latin and Cyrillic letters there is a model of our own, `language.model`: for each of the
commonest words and runs of three letters, how much it speaks for each of the languages (naive Bayes; made by
benchmarks/language_model.py, measured in docs/decisions/0035). What a run says of all languages is one long number
with 16 bits for each of them. So the scores of a text are one sum of numbers, which Python adds up in C: a sample of
200 characters costs some 70 µs.

Other languages are known only by their declaration.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

MODEL = Path(__file__).with_name("language.model")
SAMPLE_CHARS = 200  # with 600 characters it is right as often (docs/decisions/0035), and takes three times as long
SCORE_MIN = 8.0  # of a run, on the mean of all in the sample, of 31; in the right language it is 10 to 20
WORDS_MIN = 3  # fewer may be a name
NEAR = 0.9  # a declared language that has this share of the best score is as good
FOREIGN_SHARE_MIN = 0.2  # of all characters, in a script that is not Latin; half of them may be spaces and names


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODES = _names(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz "
    "ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik "
    "io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml "
    "mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd "
    "se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi "
    "vo wa wo xh yi yo za zh zu "
)
# What people write instead: codes of three letters, of countries, and of former times.
_MEANT_BY = {
    "ar": "ara",
    "bg": "bul",
    "ca": "cat",
    "cs": "ces cze cz",
    "da": "dan dk",
    "de": "deu ger",
    "el": "ell gre gr",
    "en": "eng",
    "es": "spa",
    "et": "est",
    "fa": "fas per",
    "fi": "fin",
    "fr": "fra fre",
    "he": "heb iw",
    "hi": "hin",
    "hr": "hrv",
    "hu": "hun",
    "id": "ind in",
    "it": "ita",
    "ja": "jpn jp",
    "ko": "kor",
    "lt": "lit",
    "lv": "lav",
    "nb": "nob",
    "nl": "dut nld",
    "nn": "nno",
    "no": "nor",
    "pl": "pol",
    "pt": "por",
    "ro": "ron rum",
    "ru": "rus",
    "sk": "slk slo",
    "sl": "slv",
    "sr": "srp",
    "sv": "swe",
    "th": "tha",
    "tr": "tur",
    "uk": "ukr ua",
    "vi": "vie",
    "yi": "ji",
    "zh": "chi zho cmn cn",
}
MEANT = {written: meant for meant, names in _MEANT_BY.items() for written in names.split()}
_PRIMARY = re.compile(r"\s*([a-zA-Z]{2,3})(?![a-zA-Z])")

# Where the letters of a script start and end. It is named after its language where it has only one to speak of.
SCRIPTS = (
    ("\u0370", "\u03ff", "el"),
    ("\u0400", "\u04ff", "cyrillic"),
    ("\u0561", "\u0587", "hy"),
    ("\u05d0", "\u05ea", "he"),
    ("\u0620", "\u06ff", "arabic"),
    ("\u0904", "\u0939", "hi"),
    ("\u0985", "\u09b9", "bn"),
    ("\u0a05", "\u0a39", "pa"),
    ("\u0a85", "\u0ab9", "gu"),
    ("\u0b85", "\u0bb9", "ta"),
    ("\u0c05", "\u0c39", "te"),
    ("\u0c85", "\u0cb9", "kn"),
    ("\u0d05", "\u0d39", "ml"),
    ("\u0d85", "\u0dc6", "si"),
    ("\u0e01", "\u0e4e", "th"),
    ("\u0e81", "\u0edd", "lo"),
    ("\u1000", "\u102a", "my"),
    ("\u10d0", "\u10fa", "ka"),
    ("\u1200", "\u1357", "am"),
    ("\u1780", "\u17b3", "km"),
    ("\u3041", "\u30fe", "ja"),
    ("\u4e00", "\u9fff", "zh"),
    ("\uac00", "\ud7a3", "ko"),
)
_STARTS = [start for start, _, _ in SCRIPTS]
_LETTERS_LOOKED_AT = 100
_BEYOND_LATIN = re.compile("[\u0370-\u1fff\u3041-\ud7a3]")

# Letters that others added to the Arabic alphabet.
ARABIC = (
    ("ur", re.compile("[\u0679\u0688\u0691\u06ba\u06d2]")),
    ("fa", re.compile("[\u067e\u0686\u0698\u06a9\u06af\u06cc]")),
)
# Others that are written in a script, if a page says it is one of them.
SAME_SCRIPT = {
    "ar": _names("fa ur ps ku ug sd"),
    "fa": _names("ar ur ps ku ug sd"),
    "hi": _names("mr ne sa"),
    "bn": _names("as"),
    "he": _names("yi"),
    "am": _names("ti"),
}
_WRITTEN_NORWEGIAN = _names("nb nn")
WORD = re.compile(r"[^\W\d_]+")


class _Table(NamedTuple):
    """For the languages of a script: what each word and each run of three letters says of them, in 16 bits each."""

    languages: list[str]
    scores: dict[str, int]


@cache
def _tables() -> tuple[_Table, ...]:
    """Of Latin and of Cyrillic letters; 40 ms, when they are first needed."""
    tables = []
    for languages, runs, columns in model():
        scores, wide = {}, bytearray(2 * len(languages))
        for place, run in enumerate(runs):
            wide[::2] = columns[place :: len(runs)]
            scores[run] = int.from_bytes(wide, "little")
        tables.append(_Table(languages, scores))
    return tuple(tables)


def model() -> Iterator[tuple[list[str], list[str], bytes]]:
    """For each of the scripts its languages, the words and runs of letters that speak for them, and how much: a
    number for each of the runs in the first language, then in the second, and so on."""
    head, _, rest = zlib.decompress(MODEL.read_bytes()).partition(b"\0")
    for languages, runs in json.loads(head):
        all_bytes = len(runs) * len(languages)
        yield languages, runs, rest[:all_bytes]
        rest = rest[all_bytes:]


@cache
def known() -> frozenset[str]:
    scripts = (script for _, _, script in SCRIPTS)
    return frozenset((*(language for languages, _, _ in model() for language in languages), *scripts))


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def grams_of(words: Sequence[str]) -> list[str]:
    """Runs of three letters; the end of a word is one, too."""
    text = f" {' '.join(words)} "
    return [text[place : place + 3] for place in range(len(text) - 2)]


def letters_of(words: Sequence[str]) -> set[str]:
    return set("".join(words))


def language_of(text: str, declared: str = "") -> str:
    """`declared`: what the page says, as it says it."""
    start = len(text) // 3 if len(text) > 4 * SAMPLE_CHARS else 0  # behind what introduces a long page
    sample = text[start : start + SAMPLE_CHARS]
    said = code(declared)
    script = _script(sample)
    if script in CODES:
        return said if said in SAME_SCRIPT.get(script, ()) else script
    fits = _fits(sample, _tables()[script == "cyrillic"])
    if not fits:
        return said
    meant = "no" if said in _WRITTEN_NORWEGIAN else said
    if said and (meant not in known() or fits.get(meant, 0.0) >= NEAR):
        return said
    return max(fits, key=fits.__getitem__)


def _fits(sample: str, table: _Table) -> dict[str, float]:
    """How well each language fits, as a share of the best; empty: none does."""
    words = words_of(sample)
    grams = grams_of(words)
    runs = [*grams, *words, *letters_of(words)]
    total = sum(map(table.scores.get, runs, repeat(0)))
    count = len(table.languages)
    scores = struct.unpack(f"<{count}H", total.to_bytes(2 * count, "little"))
    best = max(scores)
    if best < SCORE_MIN * len(runs) or len(words) < WORDS_MIN:
        return {}
    return {language: score / best for language, score in zip(table.languages, scores, strict=True)}


def code(declared: str) -> str:
    """The ISO 639-1 code in `en-GB`, `EN_us`, `eng`; empty where there is none."""
    found = _PRIMARY.match(declared)
    if found is None:
        return ""
    primary = found[1].lower()
    primary = MEANT.get(primary, primary)
    return primary if primary in CODES else ""


def _script(sample: str) -> str:
    """The script that most letters are of, or the language where it has a script of its own; empty: Latin."""
    try:
        sample.encode("latin-1")
    except UnicodeEncodeError:
        pass
    else:
        return ""
    letters = _BEYOND_LATIN.findall(sample)
    if len(letters) < FOREIGN_SHARE_MIN * len(sample):
        return ""
    counts = Counter(map(_script_of, letters[:_LETTERS_LOOKED_AT]))
    if counts["ja"] > 0.1 * counts["zh"]:
        return "ja"  # Chinese characters with anything between them that only Japanese has
    (script, _), *_ = counts.most_common(1)
    if script != "arabic":
        return script
    return next((language for language, letters in ARABIC if letters.search(sample)), "ar")


def _script_of(letter: str) -> str:
    _, end, script = SCRIPTS[max(0, bisect_right(_STARTS, letter) - 1)]
    return script if letter <= end else ""

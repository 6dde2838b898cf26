"""Which encoding a body is in that declares none and is not UTF-8: told by what it would say in each.

Such pages are few, old, and mostly in an encoding of their country. Each encoding that browsers know and that still
occurs is tried on the first bytes, and what comes out is judged: letters that the languages of that encoding use
count for it, other letters and control characters against it. In a script of its own (Russian, Greek, Chinese)
nearly all letters are outside of ASCII and stand side by side; in a Latin one they stand alone among ASCII letters.
So the first thing to look at is how often such bytes have a neighbour of their kind.

With less than a few words to go by, it is windows-1252, which is what browsers take. Cost: about 2 ms, and only here.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter

JUDGED_BYTES = 16_384
HIGH_BYTES_MIN = 6  # with fewer there is nothing to judge by
DEFAULT = "cp1252"

_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{2,}")
_TAG = re.compile(rb"<[^<>]*>")
JAPANESE_IN_ASCII = "iso2022_jp"
_ESCAPES_OF_JAPANESE = (b"\x1b$B", b"\x1b$@", b"\x1b(J")

_CYRILLIC = ("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґўјљњћђџ", "оеаинтсрвлкмдпу")
_GREEK = ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊ",)
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľôŕ", "áéíóöőúüű", "ăâîşţ", "čćđšž")
# For each encoding the letters, in small, of the languages that are written in it: the best fitting one counts.
_LATIN = {
    "cp1252": (
        ("äöüßé", "àâçéèêëîïôùûüœ", "áéíóúñü", "àáâãçéêíóôõú", "àèéìòù", "åäöéæøü", "áéíóúýþðæö", "àçèéíïòóúü")
    ),
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1254": ("çğıöşüâî",),
    "cp1257": ("āčēģīķļņšūž", "ąčęėįšųūž", "äöõüšž"),
}
_OWN_SCRIPT = {
    "cp1251": _CYRILLIC,
    "koi8-u": _CYRILLIC,
    "iso8859-5": _CYRILLIC,
    "cp866": _CYRILLIC,
    "cp1253": _GREEK,
    "iso8859-7": _GREEK,
    "cp1255": ("אבגדהוזחטיכךלמםנןסעפףצץקרשת", "יוהלאתרמבשנ"),
    "cp1256": ("ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءأإآؤئپچژگ",),
    "cp874": ("กขคฆงจฉชซญฎฏฐณดตถทธนบปผฝพฟภมยรลวศษสหอฮะาำิีึืุูเแโใไ่้็์ั",),
}
# Of Chinese characters, those that make up about a third of all text, in either way of writing.
_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用"
)
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用"
)
_HARMLESS = frozenset("\xa0«»„“”‚‘’–—…•·©®™°№§±×\u3000、。，：；？！（）「」『』・")


def is_japanese_in_ascii(body: bytes) -> bool:
    """ISO-2022-JP writes Japanese in bytes that are ASCII, after an escape that nothing else has."""
    return body.isascii() and any(escape in body for escape in _ESCAPES_OF_JAPANESE)


def detect(body: bytes) -> str:
    """The codec of a body that is not UTF-8."""
    sample = _sample(body)
    high = len(_HIGH.findall(sample))
    if high < HIGH_BYTES_MIN:
        return DEFAULT
    in_runs = sum(map(len, _HIGH_RUN.findall(sample)))
    if in_runs < 0.5 * high:
        return max(_LATIN, key=lambda codec: _share(sample, codec, _LATIN[codec]))
    shares = {codec: _share(sample, codec, letters[:1]) for codec, letters in _OWN_SCRIPT.items()}
    for codec, (_, *frequent) in _OWN_SCRIPT.items():
        if frequent:  # Hebrew and Russian use the same bytes, and not equally often
            shares[codec] += 0.1 * _share(sample, codec, (frequent[0],))
    shares |= _eastern_shares(sample)
    # Latin letters in a row do occur: "Müüüü", or a page of names. It takes less to be believed.
    shares[DEFAULT] = 0.5 * _share(sample, DEFAULT, _LATIN[DEFAULT])
    best = max(shares, key=lambda codec: shares[codec])
    return best if shares[best] > 0 else DEFAULT


def _sample(body: bytes) -> bytes:
    """From where the first byte outside of ASCII is; without tags, whose ASCII says nothing."""
    first = _HIGH.search(body)
    start = max(0, first.start() - 100) if first else 0
    return _TAG.sub(b" ", body[start : start + JUDGED_BYTES])


def _decoded(sample: bytes, codec: str) -> str | None:
    """None: it cannot be in that encoding. A character that is cut off at the end is no reason."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(sample)
    except UnicodeDecodeError:
        return None


def _share(sample: bytes, codec: str, alphabets: tuple[str, ...]) -> float:
    """What the characters outside of ASCII are worth: 1 if all are usual letters, below 0 if most are not."""
    text = sample.decode(codec, "replace")
    counts = Counter(re.findall(r"[^\x00-\x7f]", text))
    # A capital inside a word is a sign of the wrong encoding: koi8-r and windows-1251 have the two swapped.
    capitals_inside = len(re.findall(r"(?<=[a-zà-ÿа-яёα-ω])[À-ÞА-ЯЁΑ-Ω]", text))
    worth = max(sum(count * _worth(each, letters) for each, count in counts.items()) for letters in alphabets)
    return (worth - capitals_inside) / (sum(counts.values()) or 1)


def _worth(character: str, letters: str) -> float:
    if character in letters:
        return 1.0
    if character.lower() in letters:
        return 0.5
    return 0.0 if character in _HARMLESS else -2.0


def _eastern_shares(sample: bytes) -> dict[str, float]:
    shares: dict[str, float] = {}
    for codec in ("cp932", "euc_jp", "cp949", "gb18030", "big5hkscs"):
        text = _decoded(sample, codec)
        if text is None:
            continue
        counts = Counter(re.findall(r"[^\x00-\x7f]", text))
        total = sum(counts.values()) or 1
        kana = sum(count for character, count in counts.items() if "\u3041" <= character <= "\u30fe") / total
        hangul = sum(count for character, count in counts.items() if _is_usual_hangul(character)) / total
        common = _SIMPLIFIED if codec == "gb18030" else _TRADITIONAL
        chinese = sum(counts[character] for character in common) / total
        if codec in ("cp932", "euc_jp"):
            narrow = sum(count for character, count in counts.items() if "\uff61" <= character <= "\uff9f") / total
            shares[codec] = 2 * kana - 2 * narrow if kana > 0.1 else -1.0
        elif codec == "cp949":
            shares[codec] = 1.5 * hangul if hangul > 0.5 else -1.0
        else:
            shares[codec] = 3 * chinese - 2 * kana - hangul if chinese > 0.05 else -1.0
    return shares


def _is_usual_hangul(character: str) -> bool:
    """Of the 11,172 syllables that there could be, one of the 2,350 that KS X 1001 has and texts consist of."""
    return "\uac00" <= character <= "\ud7a3" and len(character.encode("euc_kr", "replace")) == 2

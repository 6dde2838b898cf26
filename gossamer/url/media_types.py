"""Which media types a crawl wants (`crawl.media_types`), asked twice: of a URL's ending, and of an answer's header.

A URL tells its type only where its ending is plain: what ends in .mp4 is a video, while .php, .html or no ending
can be anything. So the table holds endings that hardly ever lead to something else, and the question by the link
filter is whether we can be sure. Everything else is asked for, and the answer's Content-Type decides (fetch/http.py).
Our own table and not the standard library's, which reads what is installed on the machine and so differs between
workers.

Deliberately absent: .xml, .json, .gz and the like, which may be sitemaps and feeds; .com, .ts, .bin, .dat, which are
several things. A last part with a colon is a page about a file: /wiki/File:Garden.jpg.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.records import Url

ENDINGS = {
    "application/epub+zip": "epub",
    "application/java-archive": "jar war",
    "application/javascript": "js mjs",
    "application/msword": "doc",
    "application/octet-stream": "apk deb dmg exe iso msi rpm",
    "application/pdf": "pdf",
    "application/postscript": "ps eps",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt pps",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-7z-compressed": "7z",
    "application/x-bzip2": "bz2",
    "application/x-rar-compressed": "rar",
    "application/x-shockwave-flash": "swf",
    "application/x-tar": "tar",
    "application/x-xz": "xz",
    "application/zip": "zip",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/midi": "mid midi",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg oga opus",
    "audio/wav": "wav",
    "font/otf": "otf",
    "font/ttf": "ttf",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/jpeg": "jpg jpeg jpe",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif tiff",
    "image/vnd.microsoft.icon": "ico",
    "image/webp": "webp",
    "image/x-icon": "ico",
    "text/css": "css",
    "text/javascript": "js mjs",
    "text/rtf": "rtf",
    "video/mp4": "mp4 m4v",
    "video/mpeg": "mpg mpeg",
    "video/ogg": "ogv ogg",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/x-matroska": "mkv",
    "video/x-ms-wmv": "wmv",
    "video/x-msvideo": "avi",
}


class MediaTypes:
    """What is wanted: `text/html`, or `text/*` for all of a kind; nothing at all means everything."""

    def __init__(self, wanted: Iterable[str]) -> None:
        wanted = tuple(wanted)
        self._kinds = tuple(each.removesuffix("*") for each in wanted if each.endswith("/*"))
        self._types = frozenset(wanted)
        certain = {ending for endings in ENDINGS.values() for ending in endings.split()}
        possible = {ending for kind, endings in ENDINGS.items() if self.wants(kind) for ending in endings.split()}
        self._refused = frozenset(certain - possible)

    def __bool__(self) -> bool:
        return bool(self._types)

    def wants(self, declared: str) -> bool:
        """Whether an answer of this Content-Type is wanted; one that says nothing may be."""
        media_type = declared.partition(";")[0].strip().lower()
        return not self._types or not media_type or media_type in self._types or media_type.startswith(self._kinds)

    def may_be_at(self, url: Url) -> bool:
        """Whether there can be something wanted at a URL, as far as its ending tells."""
        path = url.partition("?")[0]
        return path.rpartition(".")[2].lower() not in self._refused or ":" in path.rpartition("/")[2]

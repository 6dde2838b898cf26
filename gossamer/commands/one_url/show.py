"""`gossamer show`: what is stored of one URL, in the archive of a crawl that may be running."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from gossamer.commands.verb import show, url_of, whole
from gossamer.folder import FolderError
from gossamer.inspect.stored_page import StoredPage, text_of, version_facts, visit_facts, visit_text
from gossamer.inspect.view import CrawlView
from gossamer.runtime.event_loop import in_loop

EXAMPLES = """
gossamer show crawl-example.com https://example.com/news
gossamer show crawl-example.com https://example.com/news --markdown
gossamer show crawl-example.com https://example.com/news --html > news.html
gossamer show crawl-example.com https://example.com/news --versions
gossamer show crawl-example.com https://example.com/news --version 1 --text
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("url", metavar="URL", help="any URL; it is made canonical first")
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--text", action="store_true", help="its main text alone, as it is read today")
    what.add_argument("--markdown", action="store_true", help="its main text alone, as Markdown")
    what.add_argument("--html", action="store_true", help="its content alone, byte for byte as it is stored")
    what.add_argument("--headers", action="store_true", help="the headers of the answer alone")
    what.add_argument("--versions", action="store_true", help="list the versions that are stored, the oldest first")
    verb.add_argument("--version", type=whole(1), metavar="N", help="number N of those, not the latest")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def run(arguments: argparse.Namespace) -> None:
    with CrawlView(Path(arguments.dir)) as view:
        stored = StoredPage(view, url_of(arguments.url))
        if arguments.versions:
            print_versions(stored, as_json=arguments.json)
            return
        visit = stored.latest() if arguments.version is None else stored.version(arguments.version)
        if arguments.headers:
            show(visit.head.decode("latin-1").replace("\r\n", "\n").rstrip())
            return
        content = stored.content(visit)
        is_text = arguments.text or arguments.markdown
        if content is None and (arguments.html or is_text):
            raise FolderError(f"the content of {visit.url} is not stored any more: it was that of {visit.refers_to}")
        if content is not None and arguments.html:
            sys.stdout.buffer.write(content.body())
            return
        page = None
        if content is not None and not visit.is_redirect:
            page = in_loop(stored.read(content, as_markdown=arguments.markdown))
    if is_text:
        show(text_of(page) if page else "")
        return
    facts = visit_facts(visit, content, page)
    show(json.dumps(facts) if arguments.json else visit_text(facts))


def print_versions(stored: StoredPage, *, as_json: bool) -> None:
    for number, visited in enumerate(stored.versions(), 1):
        facts = version_facts(number, visited)
        of = f"  as {facts['refers_to']}" if facts["refers_to"] else ""
        show(json.dumps(facts) if as_json else f"{number:>6}  {facts['fetched_at']}{of}")

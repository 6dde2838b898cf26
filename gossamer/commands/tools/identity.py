"""`gossamer identity`: a key to sign requests with, and the document that says it is yours."""

from __future__ import annotations

import argparse
from pathlib import Path

from gossamer.commands.verb import extra, say
from gossamer.config import UsageError
from gossamer.visitor import identity

EXAMPLES = """
gossamer identity bot.pem --url https://bot.example.org > directory.json
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("file", metavar="FILE", type=Path, help="the key; made if it is not there")
    verb.add_argument(
        "--url", metavar="URL", required=True, help="an https origin of yours, where its public half is"
    )


def run(arguments: argparse.Namespace) -> None:
    file: Path = arguments.file
    url = identity.origin(arguments.url)
    is_new = False
    with extra("identity"):
        try:
            identity.make(file)
            is_new = True
        except FileExistsError:
            pass
        except OSError as fault:
            raise UsageError(f"{file}: {fault.strerror}") from None
        known = identity.load(str(file), url)
    assert known is not None
    print(known.directory().decode())
    state = "was made" if is_new else "was there already"
    say(f"the key {file} {state}; publish what is printed at {url}{identity.WELL_KNOWN} as {identity.MEDIA_TYPE}")
    say(f"then crawl with --set fetch.identity_key={file} --set fetch.identity_url={url}")

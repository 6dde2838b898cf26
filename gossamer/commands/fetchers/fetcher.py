"""`gossamer fetcher`: fetch for a crawl that runs elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from socket import gethostname

from gossamer import config
from gossamer.clock import RealClock
from gossamer.commands.verb import add_config_flags, extra, flags_of, say, whole
from gossamer.config import UsageError
from gossamer.runtime.event_loop import in_loop

EXAMPLES = """
gossamer fetcher --join crawl.example.org:7400 --region eu --key-file fetcher.key --ca-file ca.pem
gossamer fetcher --join node1:7400 --join node2:7400 --process
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--join",
        metavar="HOST:PORT",
        action="append",
        type=address,
        required=True,
        help="where the crawl gives jobs (its `fetchers.listen`); again for each node of a cluster",
    )
    text = "whether this machine lets a crawl that wants to go to private addresses"
    for flag, metavar, about in (
        ("--region", "R", "where this fetcher is, as the crawl's rules name it"),
        ("--name", "NAME", "of this fetcher (default: the machine's name)"),
        ("--key-file", "FILE", "a file that holds a key of the crawl, of scope fetch"),
        ("--ca-file", "FILE", "speak TLS; PEM file of the authorities to trust"),
        ("--certificate-file", "FILE", "PEM file of our own certificate"),
        ("--certificate-key-file", "FILE", "PEM file of its private key"),
    ):
        verb.add_argument(flag, metavar=metavar, default="", help=about)
    verb.add_argument("--process", action="store_true", help="read pages here, too, and pack them for the archive")
    verb.add_argument("--at-once", metavar="N", type=whole(1, 65_536), default=512, help="requests at once (512)")
    verb.add_argument("--allow-private", action="store_true", help=text)
    add_config_flags(verb)


def run(arguments: argparse.Namespace) -> int:
    with extra("services"):
        from gossamer.fetchers.fetcher import Access, Fetcher  # noqa: PLC0415 - of an extra
        from gossamer.fetchers.stream import hello_of  # noqa: PLC0415 - of an extra
    tree = config.load(None, arguments.config, flags_of(arguments)).tree
    name = arguments.name or gethostname()
    try:
        hello = hello_of(name, arguments.region, processes=arguments.process)
    except ValueError:
        raise UsageError(
            f"--name {name}, --region {arguments.region}: wanted letters, digits, - . and _; small ones in a region"
        ) from None
    access = Access(
        key=text_in("--key-file", arguments.key_file).strip(),
        ca_file=arguments.ca_file,
        certificate_file=arguments.certificate_file,
        key_file=arguments.certificate_key_file,
    )
    if bool(access.certificate_file) != bool(access.key_file) or (access.certificate_file and not access.ca_file):
        raise UsageError("--certificate-file needs --certificate-key-file and --ca-file")
    for flag, file in (("--ca-file", access.ca_file), ("--certificate-file", access.certificate_file)):
        text_in(flag, file)
    say(f"fetcher {name}")
    at_once, allow_private = arguments.at_once, arguments.allow_private
    rest = (hello, arguments.join, access, tree.dns, tree.fetch.proxy, RealClock(), say)
    in_loop(Fetcher(*rest, at_once=at_once, allow_private=allow_private).run())
    return 0


def address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not like crawl.example.org:7400")
    return text


def text_in(flag: str, file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{flag} {file}: cannot be read ({fault})") from None

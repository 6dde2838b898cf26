"""A media type of your own: recipes, a line for the title, a line for each step, `see ADDRESS` for what to cook next.

    python examples/own_media_type.py

Here the program reads one by itself, and `gossamer.crawl(...)` in the same program would use it for every recipe that
it meets. For the command, whose workers are other processes, put it into a package that says where it is:

    [project.entry-points."gossamer.processors"]
    recipes = "my_package:recipe"
"""

from __future__ import annotations

import asyncio

import gossamer
from gossamer import Link, Page
from gossamer.process.processor import Processor
from gossamer.records import Exchange, Fetched

RECIPE = b"Pancakes\nMix eggs, flour and milk.\nFry.\nsee /waffles\nsee https://example.org/syrup?b=2&a=1\n"


@gossamer.processes("text/x-recipe")
def recipe(body: bytes, url: str, content_type: str | None) -> Page:
    title, *lines = body.decode("utf-8", "replace").splitlines()
    links = [Link(line.removeprefix("see ")) for line in lines if line.startswith("see ")]
    steps = [line for line in lines if not line.startswith("see ")]
    return Page(url, title=title, text=" ".join(steps), links=links)


async def main() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/x-recipe\r\n\r\n"
    answer = Fetched(Exchange(b"", head, 200, "192.0.2.1", 0.0, 0.1, 0.1), RECIPE)
    processor = Processor()
    page = await processor.process("https://example.com/pancakes", answer)
    await processor.close()
    print(page.title, "|", page.text)
    for link in page.links:
        print("  ", link.url)


if __name__ == "__main__":
    asyncio.run(main())

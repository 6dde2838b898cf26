"""The pages that are crawled: sizes by the published distribution, every page reached, the same for everybody."""

from __future__ import annotations

import gzip
from pathlib import Path
from statistics import quantiles

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer import cli
from gossamer.bench import disk
from gossamer.bench.mix import PACKED, Mix, Site, on_disk
from gossamer.bench.real_pages import QUANTILES, Host, size_at, sizes

HOSTS, PAGES = 4, 12
URLS = [f"https://127.1.0.{number + 1}:18080" for number in range(HOSTS)]


def quiet(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return on_disk(Mix.real(HOSTS, PAGES, 18_080), tmp_path_factory.mktemp("cache"), quiet)


def files_of(site: Site) -> list[Path]:
    return sorted(file for file in site.folder.glob("127.*/**/*") if file.is_file() and file.name != "robots.txt")


def test_sizes_have_the_quantiles_that_were_published() -> None:
    drawn = sizes(1000, 7)
    hundredths = quantiles(drawn, n=100)
    for share, wanted in QUANTILES[1:-1]:
        assert hundredths[round(share * 100) - 1] == pytest.approx(wanted, rel=0.02)
    assert [size_at(share) for share, _ in QUANTILES] == pytest.approx([size for _, size in QUANTILES])
    assert drawn != sorted(drawn) and drawn == sizes(1000, 7)


def test_pages_have_the_sizes_that_were_drawn(site: Site) -> None:
    found = sorted(file.stat().st_size for file in files_of(site))
    wanted = sorted(sizes(HOSTS * PAGES, 7))
    assert len(found) == len(wanted) == HOSTS * PAGES
    assert sum(found) == pytest.approx(sum(wanted), rel=0.03)
    assert found[len(found) // 2] == pytest.approx(wanted[len(wanted) // 2], rel=0.1)
    assert site.mix.page_bytes == pytest.approx(sum(wanted) / len(wanted), abs=1)


def test_pages_are_the_same_for_everybody_and_each_is_another() -> None:
    first, again, other = (Host(number, URLS, PAGES, 7) for number in (1, 1, 2))
    assert first.page(3, 30_000) == again.page(3, 30_000)
    assert len({first.page(3, 30_000), first.page(4, 30_000), other.page(3, 30_000)}) == 3


@pytest.mark.parametrize("number", range(4), ids=["news", "shop", "docs", "forum"])
def test_pages_are_ordinary_markup(number: int) -> None:
    host = Host(number, URLS, PAGES, 7)
    tree = LexborHTMLParser(host.page(5, 60_000).decode())
    assert tree.root is not None and tree.body is not None
    elements = sum(1 for _ in tree.root.traverse(include_text=False))
    assert 500 < elements < 2500  # the Almanac has 594 for a page of 32 KB, 1,010 for one of 71
    assert {"nav", "h1", "footer", "p", "script", "style"} <= {node.tag for node in tree.root.traverse()}
    assert len(tree.body.text()) > 60_000 / 10


def test_every_page_is_reached_from_its_root_and_every_link_leads_to_a_page(site: Site) -> None:
    pages = {
        f"{URLS[host]}{'/' if name == 'index.html' else f'/p/{name}'}": file.read_text()
        for host in range(HOSTS)
        for file in files_of(site)
        if (name := file.name) and f"127.1.0.{host + 1}" in file.parts
    }
    for host in URLS:
        waiting, reached = [f"{host}/"], {f"{host}/"}
        while waiting:
            for node in LexborHTMLParser(pages[waiting.pop()]).css("a[href]"):
                href = (node.attributes["href"] or "").partition("#")[0]
                url = href if href.startswith("https://") else host + href
                assert url in pages, href
                if url.startswith(f"{host}/") and url not in reached:
                    reached.add(url)
                    waiting.append(url)
        assert len(reached) == PAGES


def test_packed_pages_are_the_same_pages(site: Site) -> None:
    for file in [*files_of(site), site.folder / "127.1.0.1" / "robots.txt"]:
        packed = site.folder / PACKED / file.relative_to(site.folder)
        assert gzip.decompress(packed.read_bytes()) == file.read_bytes()


def test_a_mix_that_was_interrupted_is_made_anew_and_one_that_is_there_is_used(tmp_path: Path) -> None:
    mix, said = Mix(2, 3, 2_000), list[str]()
    (tmp_path / f"web-{mix}" / "127.1.0.1").mkdir(parents=True)  # as an older version left it
    made = on_disk(mix, tmp_path, said.append)
    assert len(files_of(made)) == 6 and len(said) == 1
    assert on_disk(mix, tmp_path, said.append) == made and len(said) == 1
    assert [each.name for each in tmp_path.iterdir()] == [f"web-{mix}"]


def test_one_size_and_many_are_not_asked_for_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", "--mix", "real", "--page-bytes", "5000"]) == 2
    assert "--page-bytes" in capsys.readouterr().err


# --- Where the crawls write ---


def test_a_disk_that_is_fast_enough_is_used_and_its_pace_said(tmp_path: Path) -> None:
    place = disk.choose("auto", Mix(page_bytes=1), tmp_path)
    assert (place.folder, place.is_ram) == (tmp_path, False)
    assert "MB/s" in place.said


def test_a_disk_that_is_too_slow_is_left_for_memory_and_it_is_said(tmp_path: Path) -> None:
    mix = Mix(1, 1, page_bytes=2**40)  # no disk takes that three thousand times a second
    ram = tmp_path / "ram"
    ram.mkdir()
    place = disk.choose("auto", mix, tmp_path, ram)
    assert (place.folder, place.is_ram) == (tmp_path, False)
    assert "may be the limit" in place.said and "has room for" in place.said
    small = Mix(1, 1, page_bytes=2**26)
    if disk.room(ram) < 2**30:
        pytest.skip("there is hardly any memory here")
    place = disk.choose("auto", small, tmp_path, ram)
    assert (place.folder, place.is_ram) == (ram, True)
    assert "the disk would be the limit" in place.said


def test_what_was_asked_for_is_done_where_it_can_be(tmp_path: Path) -> None:
    assert not disk.choose("no", Mix(page_bytes=2**40), tmp_path).is_ram
    place = disk.choose("yes", Mix(), tmp_path, tmp_path / "nowhere")
    assert not place.is_ram and "room" in place.said


def test_what_a_bench_that_was_killed_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"{disk.PREFIX}4194304999-abc").mkdir()  # no process has such a number
    mine, second = disk.fresh(tmp_path), disk.fresh(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([mine, second])

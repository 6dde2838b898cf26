"""What a crawl's folder keeps of its configuration: what was chosen, and what is stored depends on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config import PINNED, ConfigError, as_toml, load
from gossamer.settings import Tree


def test_a_saved_tree_is_read_back_the_same(tmp_path: Path) -> None:
    saved = load(
        flags={
            "crawl.max_pages": 100,
            "crawl.include": [r'^https?://"x"\.test/', "\x7f\t\\d", "Straße 🕸"],
            "crawl.contact": "https://example.org/bot",
            "politeness.delay_s": 1e-7,
            "frontier.retries_s": [],
            "dns.overrides": {"a b.test": "127.0.0.1", "c.test": "::1"},
        },
        environment={},
    )
    saved.save(tmp_path)
    assert load(tmp_path, environment={}).tree == saved.tree


@settings(deadline=None)
@given(
    exclude=st.lists(
        st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: "(?:" + re.escape(text) + ")")
    ),
    delay_s=st.floats(0, 86_400),
    overrides=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.ip_addresses().map(str)),
)
def test_whatever_was_given_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, exclude: list[str], delay_s: float, overrides: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("crawl")
    flags = {"crawl.exclude": exclude, "politeness.delay_s": delay_s, "dns.overrides": overrides}
    saved = load(flags=flags, environment={})
    saved.save(folder)
    assert load(folder, environment={}).tree == saved.tree


def test_saving_replaces_the_file_whole_and_leaves_nothing_else_behind(tmp_path: Path) -> None:
    load(flags={"crawl.max_pages": 1}, environment={}).save(tmp_path)
    (tmp_path / ".gossamer.toml.partial").write_text("[half of a fi")  # as a crash leaves it
    load(tmp_path, flags={"crawl.max_pages": 2}, environment={}).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["gossamer.toml"]
    assert load(tmp_path, environment={}).tree.crawl.max_pages == 2


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot write .*gossamer\.toml: No such file"):
        load(environment={}).save(tmp_path / "missing")


def test_every_setting_has_a_row_with_its_meaning() -> None:
    configuration = load(environment={})
    for key, value, origin, meaning in configuration.rows():
        assert configuration.value(key) == value
        assert origin == "built-in default"
        assert meaning and "\n" not in meaning


def kept(text: str) -> dict[str, object]:
    """By the keys of the settings."""
    return {
        f"{section}.{name}": value for section, table in tomllib.loads(text).items() for name, value in table.items()
    }


def test_the_folder_keeps_what_was_chosen_and_what_is_stored_depends_on(tmp_path: Path) -> None:
    load(flags={"crawl.max_pages": 5}, environment={"GOSSAMER_POLITENESS_DELAY_S": "1"}).save(tmp_path)
    text = (tmp_path / "gossamer.toml").read_text()
    assert set(kept(text)) == PINNED | {"crawl.max_pages", "politeness.delay_s"}
    for key in kept(text):  # with its meaning
        [row] = [row for row in load(environment={}).rows() if row.key == key]
        assert f"# {row.meaning} (" in text
    load(tmp_path, flags={"fetch.slow_s": 9}, environment={}).save(tmp_path)
    assert set(kept((tmp_path / "gossamer.toml").read_text())) == set(kept(text)) | {"fetch.slow_s"}


def test_a_limit_of_time_is_of_one_run_unless_the_file_of_the_crawl_has_it(tmp_path: Path) -> None:
    load(flags={"crawl.max_time_s": "2h", "crawl.max_pages": 9}, environment={}).save(tmp_path)
    kept_crawl = load(tmp_path, environment={}).tree.crawl
    assert (kept_crawl.max_time_s, kept_crawl.max_pages) == (None, 9)
    (tmp_path / "gossamer.toml").write_text("[crawl]\nmax_time_s = 60\n")
    load(tmp_path, environment={}).save(tmp_path)
    assert load(tmp_path, environment={}).tree.crawl.max_time_s == 60


def test_a_limit_that_was_lifted_stays_lifted(tmp_path: Path) -> None:
    load(flags={"politeness.site_requests_per_s": "none"}, environment={}).save(tmp_path)
    assert load(tmp_path, environment={}).tree.politeness.site_requests_per_s is None


def test_a_folder_with_every_setting_as_earlier_versions_wrote_it_keeps_them_all(tmp_path: Path) -> None:
    sections: dict[str, list[str]] = {}
    for row in load(environment={}).rows():
        section, name = row.key.split(".")
        if row.value is not None:
            sections.setdefault(section, []).append(f"{name} = {as_toml(row.value)}\n")
    before = "".join(f"[{section}]\n{''.join(rows)}" for section, rows in sections.items())
    (tmp_path / "gossamer.toml").write_text(before)
    configuration = load(tmp_path, environment={})
    assert configuration.tree == Tree()
    configuration.save(tmp_path)
    assert kept((tmp_path / "gossamer.toml").read_text()) == kept(before)


@pytest.mark.parametrize(
    "flags",
    [
        {"archive.url": "s3://AKIAXYZ:hush/hush@bucket/crawl"},
        {"archive.options": "secret_access_key=hush"},
        {"archive.options": {"aws_session_token": "hush"}},
    ],
)
def test_a_secret_is_refused_and_not_repeated(flags: Mapping[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags=flags, environment={})
    assert "hush" not in str(caught.value) and "come from the environment (AWS_...)" in str(caught.value)

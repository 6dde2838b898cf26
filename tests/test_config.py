"""The configuration: which layer wins, what stops the start, and that the crawl's folder remembers it all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.config import ConfigError, Configuration, as_toml, load
from gossamer.settings import CrawlSettings, FetchSettings, Tree
from gossamer.settings.kinds import seconds, size
from gossamer.settings.retired import RETIRED

PARTITIONS = "[crawl]\npartitions = 8\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def from_file(tmp_path: Path, text: str) -> Configuration:
    return load(None, written(tmp_path / "my.toml", text), {}, environment={})


def from_environment(**variables: str) -> Configuration:
    return load(environment={f"GOSSAMER_{name}": value for name, value in variables.items()})


# --- Layers ---


def test_without_anything_given_the_built_in_defaults_are_in_force() -> None:
    configuration = load(environment={})
    assert configuration.tree == Tree()
    assert set(configuration.origins.values()) == {"built-in default"}


def test_each_layer_wins_over_the_ones_before_it_and_its_origin_is_remembered(tmp_path: Path) -> None:
    kept = written(tmp_path / "gossamer.toml", "[fetch]\ntimeout_s=1\nslow_s=1\nin_flight_max=1\nbody_bytes_max=1\n")
    given = written(tmp_path / "my.toml", "[fetch]\ntimeout_s=2\nslow_s=2\nin_flight_max=2\n")
    configuration = load(
        tmp_path,
        given,
        {"fetch.timeout_s": 4},
        environment={"GOSSAMER_FETCH_TIMEOUT_S": "3", "GOSSAMER_FETCH_SLOW_S": "3"},
    )
    assert configuration.tree.fetch == FetchSettings(timeout_s=4, slow_s=3, in_flight_max=2, body_bytes_max=1)
    origins = configuration.origins
    assert origins["fetch.timeout_s"] == "flag --set fetch.timeout_s"
    assert origins["fetch.slow_s"] == "environment GOSSAMER_FETCH_SLOW_S"
    assert origins["fetch.in_flight_max"] == f"file {given}"
    assert origins["fetch.body_bytes_max"] == f"file {kept}"
    assert origins["fetch.connect_timeout_s"] == "built-in default"


def test_a_flag_that_was_not_given_leaves_the_earlier_layers_in_force(tmp_path: Path) -> None:
    written(tmp_path / "gossamer.toml", "[crawl]\nallow_private = true\n")
    assert load(tmp_path, flags={"crawl.allow_private": None}, environment={}).tree.crawl.allow_private


def test_the_word_none_lifts_a_limit_that_the_folder_has(tmp_path: Path) -> None:
    written(tmp_path / "gossamer.toml", "[crawl]\nmax_pages = 5\n")
    assert load(tmp_path, environment={}).tree.crawl.max_pages == 5
    assert load(tmp_path, flags={"crawl.max_pages": "none"}, environment={}).tree.crawl.max_pages is None


def test_text_means_the_same_in_the_environment_in_a_flag_and_in_a_file(tmp_path: Path) -> None:
    by_flag = load(flags={"politeness.delay_s": "1.5m", "fetch.body_bytes_max": "2MiB"}, environment={})
    by_variable = from_environment(POLITENESS_DELAY_S="1.5m", FETCH_BODY_BYTES_MAX="2MiB")
    by_file = from_file(tmp_path, '[politeness]\ndelay_s = "1.5m"\n[fetch]\nbody_bytes_max = "2MiB"\n')
    assert by_flag.tree == by_variable.tree == by_file.tree
    assert by_flag.tree.politeness.delay_s == 90
    assert by_flag.tree.fetch.body_bytes_max == 2 * 1024 * 1024


def test_the_environment_holds_lists_and_tables_with_commas() -> None:
    tree = from_environment(
        FRONTIER_RETRIES_S="10m, 2h",
        CRAWL_EXCLUDE=r"/a{1,3}/,[,;],\.pdf$",
        DNS_OVERRIDES="a.test=127.0.0.1, b.test=::1",
        DNS_SERVERS="127.0.0.1:5353",
        CRAWL_ALLOW_PRIVATE="true",
        CRAWL_INCLUDE="",
    ).tree
    assert tree.frontier.retries_s == (600.0, 7200.0)
    assert tree.crawl == CrawlSettings(exclude=("/a{1,3}/", "[,;]", r"\.pdf$"), allow_private=True)
    assert tree.dns.overrides == {"a.test": "127.0.0.1", "b.test": "::1"}
    assert tree.dns.servers == ("127.0.0.1:5353",)


def test_variables_that_name_no_section_belong_to_somebody_else() -> None:
    assert from_environment(CASES="/some/where", HOME="x", FETCHER_X="1").tree == Tree()


# --- What stops the start ---


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        from_file(tmp_path, text)
    message = str(caught.value)
    assert str(tmp_path / "my.toml") in message, "a message names the file"
    return message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[fetch]\ntimout_s = 5\n",
            ["unknown key fetch.timout_s", "did you mean fetch.timeout_s?", "connect_timeout_s"],
        ),
        ("[fech]\ntimeout_s = 5\n", ["unknown key fech", "did you mean fetch?", "politeness"]),
        ("[fech]\n", ["unknown key fech", "did you mean fetch?"]),
        ("timeout_s = 5\n", ["unknown key timeout_s", "did you mean fetch.timeout_s?"]),
        ("[crawl]\ndelay_s = 5\n", ["unknown key crawl.delay_s", "did you mean politeness.delay_s?"]),
        ("[crawl.more]\nx = 5\n", ["unknown key crawl.more"]),
        ("fetch = 5\n", ["fetch", "[fetch]"]),
    ],
)
def test_an_unknown_key_is_named_with_its_file_and_what_would_be_valid(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    message = complaint(tmp_path, text)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("crawl.partitions", "0", "a whole number from 1 to 4096"),
        ("crawl.partitions", "8.5", "a whole number from 1 to 4096"),
        ("crawl.partitions", "true", "a whole number from 1 to 4096"),
        ("crawl.max_pages", "0", "a whole number from 1 to 1000000000000000, or none"),
        ("crawl.scope", '"world"', "one of any, host, site"),
        ("crawl.allow_private", '"perhaps"', "true or false"),
        ("crawl.include", '["("]', "'(' is not a regular expression"),
        ("crawl.include", "7", "a list, each a regular expression"),
        ("crawl.contact", '"somebody"', "a mail address or an http(s) URL"),
        ("crawl.contact", '"a@b.test\\nCookie: x"', "a mail address or an http(s) URL"),
        ("crawl.user_agent_token", '"gossamer/1"', "letters, - and _ only"),
        ("fetch.timeout_s", "-1", "a number from 0.001 to 86400"),
        ("fetch.timeout_s", "inf", "a number from 0.001 to 86400"),
        ("fetch.timeout_s", "nan", "a number from 0.001 to 86400"),
        ("fetch.timeout_s", '"10 parsecs"', "30, 500ms, 10m, 1.5h or 2d"),
        ("fetch.accept_language", '"de\\r\\nCookie: x"', "printable ASCII"),
        ("frontier.retries_s", "[600, -1]", "a list, each a number from 0 to 2592000"),
        ("robots.age_s_max", "86401", "a number from 0 to 86400"),
        ("robots.body_bytes_max", "511999", "a whole number from 512000 to"),
        ("dns.servers", '["example.org"]', "an IP address"),
        ("dns.overrides", '{"a.test" = "localhost"}', "each with an IP address"),
    ],
)
def test_a_bad_value_is_named_with_its_key_its_file_and_what_is_wanted(
    tmp_path: Path, key: str, value: str, wanted: str
) -> None:
    section, name = key.split(".")
    message = complaint(tmp_path, f"[{section}]\n{name} = {value}\n")
    assert key in message
    assert wanted in message


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"FETCH_TIMEOUT_S": "soon"}, ["fetch.timeout_s", "GOSSAMER_FETCH_TIMEOUT_S", "'soon'", "10m"]),
        ({"FETCH_TIMOUT_S": "5"}, ["GOSSAMER_FETCH_TIMOUT_S", "did you mean fetch.timeout_s?"]),
        ({"CRAWL_PARTITIONS": ""}, ["GOSSAMER_CRAWL_PARTITIONS", "a whole number"]),
        ({"DNS_OVERRIDES": "a.test"}, ["GOSSAMER_DNS_OVERRIDES", "an IP address"]),
        ({"CRAWL_EXCLUDE": "caf\udce9"}, ["GOSSAMER_CRAWL_EXCLUDE", "UTF-8"]),
    ],
)
def test_a_bad_variable_is_named(variables: dict[str, str], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        from_environment(**variables)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"crawl.max_pages": 0}, ["crawl.max_pages = 0", "flag --max-pages", "from 1"]),
        ({"politeness.delay_s": "fast"}, ["politeness.delay_s", "flag --delay", "'fast'"]),
        ({"crawl.pages_max": 1}, ["unknown key crawl.pages_max", "crawl.max_pages"]),
    ],
)
def test_a_bad_flag_is_named(flags: Mapping[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags=flags, environment={})
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"[fetch]\n\ntimeout_s 5\n", "line 3"),
        (b"[fetch]\naccept_language = '''de\n\n", "line 3"),
        (b"[fetch]\ntimeout_s = 5\ntimeout_s = 6\n", "line 3"),
        (b"[fetch]\n# caf\xe9\n", "line 2"),
    ],
)
def test_a_damaged_file_is_named_with_the_line(tmp_path: Path, content: bytes, line: str) -> None:
    path = tmp_path / "gossamer.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environment={})
    assert str(path) in str(caught.value)
    assert line in str(caught.value)


def test_a_missing_config_file_is_an_error_and_a_missing_folder_is_a_new_crawl(tmp_path: Path) -> None:
    assert load(tmp_path / "new", environment={}).tree == Tree()
    with pytest.raises(ConfigError, match=r"cannot read .*missing\.toml: No such file"):
        load(None, tmp_path / "missing.toml", {}, environment={})
    with pytest.raises(ConfigError, match=r"cannot read .*: Is a directory"):
        load(None, tmp_path, {}, environment={})


def test_two_values_that_contradict_each_other_are_both_named_with_their_origins(tmp_path: Path) -> None:
    written(tmp_path / "gossamer.toml", "[frontier]\nlease_s = 30\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environment={})
    assert "fetch.timeout_s = 60.0 (built-in default) is above frontier.lease_s = 30.0" in str(caught.value)
    assert str(tmp_path / "gossamer.toml") in str(caught.value)


# --- Settings that there were once ---


def lines(key: str, value: object) -> str:
    section, name = key.split(".")
    return f"[{section}]\n{name} = {as_toml(value)}\n"


@pytest.mark.parametrize("key", RETIRED)
def test_a_retired_setting_with_the_value_that_always_holds_changes_nothing(tmp_path: Path, key: str) -> None:
    text = lines(key, RETIRED[key].value)
    written(tmp_path / "gossamer.toml", text)
    for configuration in (load(tmp_path, environment={}), from_file(tmp_path, text)):
        assert (configuration.tree, configuration.notices) == (Tree(), ())
    name = key.upper().replace(".", "_")
    assert from_environment(**{name: str(RETIRED[key].value)}).tree == Tree()


@pytest.mark.parametrize("key", [key for key, retired in RETIRED.items() if not retired.stops])
def test_a_crawl_with_another_value_goes_on_and_says_so_once(tmp_path: Path, key: str) -> None:
    kept = written(tmp_path / "gossamer.toml", lines(key, "another"))
    configuration = load(tmp_path, environment={})
    (notice,) = configuration.notices
    assert notice.startswith(f'{key} = "another" (file {kept}) is no longer a setting, and ')
    assert RETIRED[key].why in notice
    configuration.save(tmp_path)
    assert load(tmp_path, environment={}).notices == ()


def test_a_crawl_whose_archive_cannot_be_read_any_more_says_what_to_do(tmp_path: Path) -> None:
    kept = written(tmp_path / "gossamer.toml", lines("archive.kind", "objects"))
    with pytest.raises(ConfigError, match=rf'archive.kind = "objects" \(file {kept}\) .*Export it with the version'):
        load(tmp_path, environment={})


@pytest.mark.parametrize("key", RETIRED)
def test_somebody_who_asks_for_another_value_now_is_told(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"{key} = .* \(flag --set {key}\) is no longer a setting"):
        load(flags={key: "another"}, environment={})
    assert f"{key} = " in complaint(tmp_path, lines(key, "another"))


def test_the_number_of_partitions_is_fixed_once_the_crawl_exists(tmp_path: Path) -> None:
    load(flags={"crawl.partitions": 4}, environment={}).save(tmp_path)
    assert load(tmp_path, environment={}).tree.crawl.partitions == 4
    assert load(tmp_path, flags={"crawl.partitions": "4"}, environment={}).tree.crawl.partitions == 4
    with pytest.raises(ConfigError, match=r"flag --set crawl.partitions.*was created with 4"):
        load(tmp_path, flags={"crawl.partitions": 8}, environment={})
    with pytest.raises(ConfigError, match=r"environment GOSSAMER_CRAWL_PARTITIONS.*was created with 4"):
        load(tmp_path, environment={"GOSSAMER_CRAWL_PARTITIONS": "8"})


def test_durations_and_sizes_are_read_as_people_write_them() -> None:
    assert [seconds(text) for text in ("90", "500ms", "10m", "1.5h", " 2 d ")] == [
        90,
        0.5,
        600,
        5400,
        172_800,
    ]
    assert [size(text) for text in ("1000", "512KiB", "10 MiB", "1GiB")] == [1000, 524_288, 10_485_760, 2**30]
    for text in ("", "-1", "1h30m", "٣", "1e3", "10 parsecs", "inf"):
        with pytest.raises(ValueError, match="is not like"):
            seconds(text)

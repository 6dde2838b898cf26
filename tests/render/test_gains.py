"""What rendering gained for a pattern of URLs is known at the next start, and bounded for each host."""

from __future__ import annotations

from pathlib import Path

from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.gains import PATTERNS_MAX, SUFFIX, Gains
from gossamer.frontier.patterns import Patterns
from gossamer.rendered import Gain, RenderCost
from gossamer.settings import TrapsSettings
from gossamer.url.patterns import WHOLE_HOST

GAINED, NOTHING = RenderCost("shell", links_gained=3), RenderCost("scripts")


def save(store: RocksStore, gains: Gains) -> None:
    batch = store.batch()
    gains.save(batch)
    store.write(batch, sync=False)


def test_gains_outlive_the_process_and_do_not_disturb_the_patterns_of_traps(folder: Path) -> None:
    store = RocksStore(folder / "store", TABLES)
    gains = Gains(store)
    gains.rendered("http://a.test/item/1", GAINED, 5.0)
    gains.rendered("http://a.test/item/2", NOTHING, 6.0)
    gains.passed("http://a.test/item/3")
    save(store, gains)
    store.close()

    store = RocksStore(folder / "store", TABLES)
    own, host = Gains(store).of("http://a.test/item/9")
    assert own == Gain(rendered=2, gained=1, passed=1, looked_at=6.0, last=NOTHING) and own.is_worth_it
    assert host is not None and host.rendered == 2
    assert Gains(store).of("http://b.test/item/1") == (None, None)
    assert Patterns(store, TrapsSettings(), {}).refusal(b"", "http://a.test/item/9") is None
    store.close()


def test_a_host_with_patterns_without_end_keeps_the_last_ones(folder: Path) -> None:
    store = RocksStore(folder / "store", TABLES)
    gains = Gains(store)
    for number in range(3 * PATTERNS_MAX):
        gains.rendered(f"http://a.test/{'x' * (number % 30 + 1)}/{'y' * (number // 30 + 1)}/z.html", GAINED, number)
    save(store, gains)
    (value,) = (value for key, value in store.scan("patterns") if key.endswith(SUFFIX))
    assert len(value) < 10_000
    own, host = gains.of(f"http://a.test/{'x' * (191 % 30 + 1)}/{'y' * (191 // 30 + 1)}/z.html")
    assert own is not None and host is not None and host.rendered == 3 * PATTERNS_MAX
    assert WHOLE_HOST.encode() in value
    store.close()

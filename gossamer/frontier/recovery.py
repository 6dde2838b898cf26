"""Recovery: giving back what was in flight when the last owner stopped, however it stopped.

The queue entries are still in place. What has to change: each host is treated as if its answer had ended just now,
because nobody knows how it ended; and the page that was being read in the worker itself, if the end was not clean, is
noted (recorder.py).

One death is a suspicion and no proof: it may have been the page, somebody's `kill -9`, or the system short of memory.
So from then on all pages of that host are read in the sandbox (process/sandbox.py), where a page can harm nobody, and
where a death is proof. It costs them little, and nobody is wronged. Only what cannot be read in the sandbox, such as
a processor of the user's own that no other process can import, can take `kills_max` workers down and go into
quarantine.

What was given out before is reported to nobody any more. A power cut may have taken the last turns with it, so some
are skipped at every opening: the id of a lease is never used again.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import HOST_KEY_BYTES, URL_KEY_BYTES, Meta, decode_note
from gossamer.interfaces import Store
from gossamer.records import Reason, State, Url, UrlRecord
from gossamer.url.site import host_of

TURNS_SKIPPED = 1 << 20  # more than are given between two syncs


def recover(
    store: Store,
    reader: PartitionReader,
    meta: Meta,
    change: Change,
    culprit: Url | None,
    kills_max: int,
    delay_s: float,
) -> None:
    meta.turn += TURNS_SKIPPED
    change.is_dirty = True
    for turn, value in store.scan("leases"):
        change.batch.delete("leases", turn)
        if len(turn) == URL_KEY_BYTES:  # a booked turn
            _start_delay(reader, change, turn[:HOST_KEY_BYTES], delay_s)
            continue
        for entry, key in decode_note(value).entries:
            if store.get("queue", entry) is None:
                continue  # finished
            _start_delay(reader, change, key[:HOST_KEY_BYTES], delay_s)
            known = reader.known(key)
            assert known is not None, f"in flight but unknown: {key.hex()}"
            if known.url == culprit:
                _hold_to_account(change, key, known, entry, kills_max)


def _start_delay(reader: PartitionReader, change: Change, key: bytes, delay_s: float) -> None:
    stored = reader.host(key)
    if stored is not None:
        host = change.host(key, stored.name)
        host.ready_at = max(host.ready_at, change.now + max(host.delay_s, delay_s))


def _hold_to_account(change: Change, key: bytes, known: UrlRecord, entry: bytes, kills_max: int) -> None:
    change.host(key, host_of(known.url)).kills += 1
    known = msgspec.structs.replace(known, kills=known.kills + 1)
    if known.kills < kills_max:
        change.put_url_record(key, known)
        change.batch.put("queue", entry, key)
        return
    change.dequeue(entry, change.host(key, host_of(known.url)), known)
    story = f"{known.kills} workers died while they processed it"
    change.quarantine(
        key, msgspec.structs.replace(known, state=State.QUARANTINED, reason=Reason.KILLS_WORKER, detail=story)
    )

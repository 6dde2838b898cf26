"""Moments that were noted by another clock: moved, so that everything waits as long as it was meant to wait.

Two things happen to a wall clock. It is set forward while we run, by hours that never passed: then hosts that are
left alone stay alone for as much longer (`put_off`); what else comes early, a further try or a visit, harms nobody.
Or the last run had a clock that was ahead, by a year perhaps: then all that it noted lies so far ahead that nothing
would be asked for as long (`move_back`). A partition knows that by the moment of its last batch, which cannot lie in
the future.

Both read whole tables, some microseconds an entry. They happen once in the life of a crawl, if at all.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import HOST_KEY_BYTES, Meta, decode_host, due_key, encode, moment_of
from gossamer.frontier.front import Front
from gossamer.frontier.rules import origins
from gossamer.interfaces import BATCH_MAX, Store

AHEAD_S = 60.0  # less is what clocks differ by, and what a batch may be late


def move_back(store: Store, reader: PartitionReader, meta: Meta, now: float, delay_s: float) -> float:
    """Move all moments back if the last batch was written in the future; by how many seconds, 0: it was not.

    A crash on the way does no harm: nothing comes sooner than a host's delay from now, and what was moved twice is
    early."""
    ahead_s = meta.written_at - now
    if ahead_s < AHEAD_S:
        return 0.0
    batch = store.batch()
    for key, value in store.scan("hosts"):
        host = decode_host(value)
        is_away = origins.move_back(host, ahead_s, now)
        if host.next_turn_at > now or is_away:
            if host.ready_at > now:
                host.ready_at = max(host.ready_at - ahead_s, now + max(host.delay_s, delay_s))
            if host.is_resting:
                host.rest_until = max(host.rest_until - ahead_s, now)
            batch.put("hosts", key, encode(host))
        if len(batch) >= BATCH_MAX:
            store.write(batch, sync=False)
            batch = store.batch()
    for table in ("due", "again"):
        for due, value in store.scan(table, due_key(now, b"")):
            moment = max(now, moment_of(due) - ahead_s)
            batch.delete(table, due)
            batch.put(table, due_key(moment, due[8:]), value)
            if len(due[8:]) > HOST_KEY_BYTES and (known := reader.known(due[8:])) is not None:
                batch.put("urls", due[8:], encode(msgspec.structs.replace(known, due_at=moment)))
            if len(batch) >= BATCH_MAX:
                store.write(batch, sync=False)
                batch = store.batch()
    meta.written_at = now
    meta.floor_at = min(meta.floor_at, now)
    batch.put("meta", b"meta", encode(meta))
    store.write(batch, sync=True)
    return ahead_s


def put_off(store: Store, front: Front, by_s: float, now: float) -> None:
    """The clock was set forward to `now`: whoever waits or rests does so for as long as it was meant to."""
    batch = store.batch()
    for due, value in store.scan("due", due_key(now - by_s, b"")):
        if len(due[8:]) > HOST_KEY_BYTES or (host := front.host(due[8:])) is None:
            continue
        if due[8:] not in front.active:  # else it is put off with them
            host.ready_at += by_s
        if host.is_resting:
            host.rest_until += by_s
        batch.delete("due", due)
        batch.put("due", due_key(moment_of(due) + by_s, due[8:]), value)
        batch.put("hosts", due[8:], encode(host))
        if len(batch) >= BATCH_MAX:
            store.write(batch, sync=False)
            batch = store.batch()
    store.write(batch, sync=False)
    front.put_off(by_s, now)

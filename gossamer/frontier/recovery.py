"""Recovery: giving back what was in flight when the last owner stopped, however it stopped.

The queue entries are still in place. What has to change: each host is treated as if its answer had ended just now,
because nobody knows how it ended; and the page that was being processed, if the end was not clean, is held to account
(recorder.py): after `kills_max` times it goes into quarantine, with its story.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.tables import HOST_KEY_BYTES, URL_KEY_BYTES, decode_note
from gossamer.interfaces import Store
from gossamer.records import Known, Reason, State, Url
from gossamer.url.site import host_of


def recover(
    store: Store, ledger: Ledger, change: Change, culprit: Url | None, kills_max: int, delay_s: float
) -> None:
    for turn, value in store.scan("leases"):
        change.batch.delete("leases", turn)
        if len(turn) == URL_KEY_BYTES:  # a booked turn
            _start_delay(ledger, change, turn[:HOST_KEY_BYTES], delay_s)
            continue
        for entry, key in decode_note(value).entries:
            if store.get("queue", entry) is None:
                continue  # finished
            _start_delay(ledger, change, key[:HOST_KEY_BYTES], delay_s)
            known = ledger.known(key)
            assert known is not None, f"in flight but unknown: {key.hex()}"
            if known.url == culprit:
                _hold_to_account(change, key, known, entry, kills_max)


def _start_delay(ledger: Ledger, change: Change, key: bytes, delay_s: float) -> None:
    stored = ledger.host(key)
    if stored is not None:
        host = change.host(key, stored.name)
        host.ready_at = max(host.ready_at, change.now + max(host.delay_s, delay_s))


def _hold_to_account(change: Change, key: bytes, known: Known, entry: bytes, kills_max: int) -> None:
    known = msgspec.structs.replace(known, kills=known.kills + 1)
    if known.kills < kills_max:
        change.put_known(key, known)
        change.batch.put("queue", entry, key)
        return
    change.dequeue(entry, change.host(key, host_of(known.url)), known)
    story = f"{known.kills} workers died while they processed it"
    change.quarantine(
        key, msgspec.structs.replace(known, state=State.QUARANTINED, reason=Reason.KILLS_WORKER, detail=story)
    )

"""What counts as a change, and what is kept of a visit."""

from __future__ import annotations

import math

import msgspec

from gossamer.schedule.change import NEVER, VISITS_MAX, gone, is_change, look_of, seen
from gossamer.visit_history import History

HOUR_S = 3600
NOON = 1_700_000_000


def visited(*changes: bool, every_s: float = HOUR_S) -> History:
    history, at = seen(NEVER, NOON, changed=False), float(NOON)
    for changed in changes:
        at += every_s
        history = seen(history, at, changed=changed)
    return history


def test_the_first_visit_has_nothing_to_compare_with() -> None:
    assert visited() == History(visited_at=NOON, changed_at=NOON)


def test_time_without_a_change_is_added_up_and_changes_are_counted() -> None:
    history = visited(False, True, False, False)
    assert (history.visits, history.changes, history.quiet_s) == (4, 1, 3 * HOUR_S)
    assert history.changed_at == NOON + 2 * HOUR_S
    assert history.log_sum == round(1000 * math.log(HOUR_S))


def test_a_date_that_can_be_trusted_tells_when_it_changed() -> None:
    history = seen(visited(), NOON + HOUR_S, changed=True, modified_at=NOON + HOUR_S - 600)
    assert (history.dated, history.changes, history.quiet_s) == (1, 0, 600)
    assert history.changed_at == NOON + HOUR_S - 600


def test_a_date_of_right_now_or_of_before_our_last_visit_tells_nothing() -> None:
    for date in (NOON + HOUR_S, NOON - 5):
        history = seen(visited(), NOON + HOUR_S, changed=True, modified_at=date)
        assert (history.dated, history.changes) == (0, 1)


def test_the_age_of_a_new_page_is_evidence() -> None:
    history = seen(NEVER, NOON, changed=False, modified_at=NOON - 500)
    assert (history.dated, history.quiet_s, history.changed_at) == (1, 500, NOON - 500)


def test_a_visit_that_was_called_for_counts_the_time_until_the_call() -> None:
    history = seen(msgspec.structs.replace(visited(), said=2), NOON + HOUR_S, changed=True)
    assert (history.dated, history.changes, history.quiet_s) == (1, 0, HOUR_S)
    assert history.said == 0


def test_a_history_stays_small_for_ever() -> None:
    history = visited(*([True, False, False] * 200), every_s=30 * 86_400)
    assert history.visits < VISITS_MAX
    assert 0.25 < history.changes / history.visits < 0.42
    assert (
        len(msgspec.msgpack.encode(msgspec.structs.replace(history, look=2**63, change_rate=-1500, cell=50_000)))
        <= 55
    )


def test_what_is_gone_is_remembered() -> None:
    history = gone(gone(visited(True), NOON), NOON)
    assert (history.gone, history.changes) == (2, 1)
    assert seen(history, NOON + 2 * HOUR_S, changed=False).gone == 0


def test_another_date_in_the_footer_is_no_change_and_another_text_is() -> None:
    simhash = 0x0123_4567_89AB_CDEF
    long = look_of(simhash, 500, "text", "00", words_min=40)
    assert not is_change(long, look_of(simhash ^ 0b101, 500, "other", "01", words_min=40), bits=3)
    assert is_change(long, look_of(~simhash & (2**64 - 1), 500, "other", "01", words_min=40), bits=3)
    short = look_of(simhash, 3, "too short to say", "00", words_min=40)
    assert short == look_of(0, 3, "too short to say", "01", words_min=40)
    assert is_change(short, look_of(simhash, 3, "too short to see", "00", words_min=40), bits=3)
    assert is_change(look_of(0, 0, "", "ab" * 32, words_min=40), look_of(0, 0, "", "ac" * 32, words_min=40), bits=3)


def test_a_page_that_creeps_away_is_noticed_in_the_end() -> None:
    history, look, changes = seen(NEVER, NOON, changed=False, look=0), 0, 0
    for step in range(12):
        look |= 1 << step
        changed = is_change(history.look, look, bits=3)
        changes += changed
        history = seen(history, NOON + (step + 1) * HOUR_S, changed=changed, look=look)
    assert changes == 3

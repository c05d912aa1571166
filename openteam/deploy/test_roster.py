import numpy as np

from openteam.deploy.roster import Roster


def seen(roster, *ids):
    after, view = roster.see(ids)
    return after, view.slots, np.flatnonzero(view.new).tolist(), np.flatnonzero(view.visible).tolist()


def test_newcomers_take_the_lowest_free_slots_in_the_order_they_are_given():
    roster, slots, new, visible = seen(Roster(5, False), "b", "a")
    assert (slots, new, visible) == ([1, 2], [1, 2], [0, 1, 2])
    assert seen(roster, "a", "c", "b")[1:] == ([2, 3, 1], [3], [0, 1, 2, 3])


def test_in_a_full_view_whoever_is_not_seen_has_left_and_is_new_on_return():
    roster, *_ = seen(Roster(4, False), "a", "b")
    roster, slots, new, _ = seen(roster, "b")
    assert (slots, new, list(roster.slot_of)) == ([2], [], ["b"])
    assert seen(roster, "b", "a")[1:3] == ([2, 1], [1])


def test_in_a_full_view_a_newcomer_may_take_the_slot_of_who_left_in_the_same_step():
    roster, *_ = seen(Roster(3, False), "a", "b")
    assert seen(roster, "c", "b")[1:3] == ([1, 2], [1])


def test_in_a_partial_view_whoever_is_out_of_sight_keeps_the_slot_and_is_not_new_on_return():
    roster, *_ = seen(Roster(4, True), "a", "b")
    roster, *_ = seen(roster)
    assert seen(roster, "c", "b", "a")[1:3] == ([3, 2, 1], [3])


def test_a_slot_that_is_needed_is_taken_from_whoever_was_seen_least_recently():
    roster, *_ = seen(Roster(4, True), "a", "b", "c")
    roster, *_ = seen(roster, "a", "c")
    roster, *_ = seen(roster, "a")
    roster, slots, new, _ = seen(roster, "d", "a")
    assert (slots, new, set(roster.slot_of)) == ([2, 1], [2], {"a", "c", "d"})
    assert seen(roster, "e", "d")[1] == [3, 2]  # c, and not a, who was seen after c


def test_who_is_taken_off_the_roster_is_new_on_return():
    roster, *_ = seen(Roster(4, True), "a", "b")
    assert seen(roster.without("a"), "a", "b")[1:3] == ([1, 2], [1])


def test_a_roster_does_not_change():
    roster, *_ = seen(Roster(3, True), "a", "b")
    before = dict(roster.slot_of)
    roster.see(["c", "d"])
    roster.without("a")
    assert roster.slot_of == before

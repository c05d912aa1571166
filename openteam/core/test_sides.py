import pytest

from openteam.core.sides import Sides
from openteam.errors import UserError


def test_the_first_side_is_trained_and_may_not_see_itself():
    assert Sides().trained(3).tolist() == [True] * 3
    assert Sides(2).trained(4).tolist() == [True, True, False, False]
    assert not Sides(2).hidden(4).any()
    hidden = Sides(2, see_own=False).hidden(4)
    assert hidden[0].tolist() == [False, True, False, False]
    assert hidden[3].tolist() == [False, False, True, False]


def test_sides_that_cannot_be_are_refused():
    with pytest.raises(UserError, match="5 slots cannot be 2 sides of equal size"):
        Sides(2).size(5)
    with pytest.raises(UserError, match="count must be positive"):
        Sides(0)

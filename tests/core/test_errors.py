"""What an error says beside what is wrong."""

from longform.errors import did_you_mean, short_repr


def test_close_names_stand_in_brackets_and_without_one_nothing_does():
    assert did_you_mean("temprature", ["temperature", "top_k"]) == " (near: temperature)"
    assert did_you_mean("x", ["temperature", "top_k"]) == ""
    near = did_you_mean("seed", ["seeds", "seed_1", "feed", "weed", "other"])
    assert near.startswith(" (near: seeds, ") and near.count(",") == 2  # three at most


def test_a_long_or_deep_value_is_shown_short():
    assert short_repr("a" * 1000).count("a") < 60
    assert len(short_repr([[[[[[[["deep"]]]]]]]] * 50)) < 200
    assert short_repr(5) == "5"

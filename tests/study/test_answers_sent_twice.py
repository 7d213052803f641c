"""An answer that a page sends again is one answer, in whatever order its fields come."""

from longform_lab.study.store import Store


def test_an_answer_sent_again_with_fields_in_another_order_is_kept_once(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    try:
        (token,) = store.invite_all(["ann"]).values()
        for answer in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}):
            store.add(token, "item", answer)
        assert len(store.answers()) == 2
    finally:
        store.close()

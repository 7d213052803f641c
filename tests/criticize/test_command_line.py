"""What the command says on the terminal while it works."""

from types import SimpleNamespace

from longform.cli import _bar


def test_the_bar_names_the_critic_at_work_and_hands_every_one_on(capsys):
    panels = []
    for name, absent in (("repetition", ""), ("bbscore", "no encoder"), ("mauve", "")):
        panels.append(SimpleNamespace(name=name, absent=absent))
    assert list(_bar(panels)) == panels
    said = capsys.readouterr()
    assert (
        said.out == "" and "2/2" in said.err and "mauve" in said.err and "bbscore" not in said.err
    )

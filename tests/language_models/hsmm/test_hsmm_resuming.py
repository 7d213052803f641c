"""A fit that is killed anywhere ends with the bytes of one that was not."""

from pathlib import Path

import pytest
from semi_markov_cases import bursts

from longform.hsmm import compiled, train
from longform.hsmm.em import Compute, Plan, fit_em
from longform.hsmm.train import Kept, resumed_fit

TEXTS = bursts(1)
SIZES = {"num_states": 4, "max_duration": 3, "seed": 1}
PLANS = {"plain": Plan(5), "grown": Plan(7, growth=[(2, 3)], min_count=1e-3),
         "until": Plan(9, growth=[(2, 2)], min_count=1e-3, until=0.02)}  # fmt: skip


class Killed(Exception):
    """In place of a signal."""


class Dying(Kept):
    """Dies at the given calls, counted over all processes, before or after it has kept what it was told."""

    deaths: list[tuple[str, int]] = []
    calls: dict[str, int] = {}

    def _call(self, what: str) -> None:
        self.calls[what] = self.calls.get(what, 0) + 1
        if (what, self.calls[what]) in self.deaths:
            raise Killed

    def block(self, *given) -> None:
        self._call("before block")
        super().block(*given)
        self._call("after block")

    def iteration(self, *given) -> None:
        self._call("before iteration")
        super().iteration(*given)
        self._call("after iteration")


@pytest.fixture(autouse=True)
def _small_blocks_are_saved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "EVERY", 0.0)
    monkeypatch.setattr(compiled, "ROWS_PER_BLOCK", 150)
    monkeypatch.setattr(Dying, "calls", {})


def _fit(kind: type[Kept], folder: Path, plan: Plan, threads: int) -> None:
    made = {
        "keeper": kind("fit", folder / "fit", plan, 4),
        "start": resumed_fit("fit", folder / "fit"),
        "plan": plan,
    }
    fit_em(
        TEXTS,
        **SIZES,
        **made,
        compute=Compute(threads=threads),
        validate=lambda model: float(model.joint.max()),
    )


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("threads", [1, 2])
def test_killed_and_resumed_fit_has_the_bytes_of_an_unbroken_one(
    name, threads, tmp_path, monkeypatch
):
    deaths = [("after block", 2), ("before block", 9), ("after block", 19), ("before iteration", 3)]
    deaths += [("after iteration", 3)]
    monkeypatch.setattr(Dying, "deaths", deaths)
    _fit(Kept, tmp_path / "whole", PLANS[name], 1)
    for _ in deaths:
        with pytest.raises(Killed):
            _fit(Dying, tmp_path / "broken", PLANS[name], threads)
    _fit(Dying, tmp_path / "broken", PLANS[name], threads)
    whole, broken = (
        {p.name: p.read_bytes() for p in (tmp_path / k / "fit").iterdir()}
        for k in ("whole", "broken")
    )
    assert whole == broken and len(whole) == 4
    assert [p.name for p in (tmp_path / "broken").iterdir()] == ["fit"]


def test_a_killed_iteration_goes_on_where_its_sums_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dying, "deaths", [("after block", 3)])
    with pytest.raises(Killed):
        _fit(Dying, tmp_path, Plan(1), 1)
    _fit(Dying, tmp_path, Plan(1), 1)
    seven_blocks = -(-sum(len(text) + 1 for text in TEXTS) // 150)
    assert Dying.calls["after block"] == pytest.approx(seven_blocks, abs=2)
    assert Dying.calls["before iteration"] == 1


def test_kill_between_the_two_renames_leaves_the_old_checkpoint_readable(tmp_path: Path) -> None:
    assert resumed_fit("fit", tmp_path / "fit") is None
    fit = fit_em(TEXTS, **SIZES, plan=Plan(1))
    fit.save(tmp_path / "fit", sealed=True)
    (tmp_path / "fit").rename(tmp_path / "fit.old")
    assert resumed_fit("fit", tmp_path / "fit").history == fit.history
    fit.save(tmp_path / "fit", sealed=True)
    assert [p.name for p in tmp_path.iterdir()] == ["fit"]


def _damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    content[-len(content) // 3] ^= 0x55
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(content if how == "bits" else content[: len(content) // 2])


@pytest.mark.parametrize("how", ["cut", "bits", "gone"])
@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "history.json", "digests.json"]
)
def test_a_damaged_fit_costs_one_sentence_and_ends_with_the_same_bytes(name, how, tmp_path, capsys):
    for folder in ("whole", "broken"):
        _fit(Kept, tmp_path / folder, Plan(2), 1)
    _damage(tmp_path / "broken" / "fit" / name, how)
    capsys.readouterr()
    _fit(Kept, tmp_path / "broken", Plan(2), 1)
    assert capsys.readouterr().out.splitlines()[0] == "fit: fit missing or cut; starts over"
    whole, broken = (
        {p.name: p.read_bytes() for p in (tmp_path / k / "fit").iterdir()}
        for k in ("whole", "broken")
    )
    assert whole == broken


def test_a_damaged_fit_gives_way_to_a_whole_one_beside_it(tmp_path, capsys):
    fit = fit_em(TEXTS, **SIZES, plan=Plan(1))
    for name in ("fit.old", "fit"):
        fit.save(tmp_path / name, sealed=True)
        if name == "fit.old":
            (tmp_path / name).rename(tmp_path / "aside")
    (tmp_path / "aside").rename(tmp_path / "fit.old")
    _damage(tmp_path / "fit" / "history.json", "cut")
    assert resumed_fit("em", tmp_path / "fit").history == fit.history
    assert capsys.readouterr().out == "em: fit missing or cut; goes on from fit.old\n"


@pytest.mark.parametrize("how", ["cut", "bits"])
def test_damaged_sums_of_an_iteration_cost_that_iteration_alone(how, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Dying, "deaths", [("after block", 10)])  # in the second iteration
    with pytest.raises(Killed):
        _fit(Dying, tmp_path / "broken", Plan(2), 1)
    _damage(tmp_path / "broken" / train.SUMS, how)
    capsys.readouterr()
    _fit(Dying, tmp_path / "broken", Plan(2), 1)
    told = capsys.readouterr().out.splitlines()[0]
    assert told == f"fit: {train.SUMS} is cut or damaged; iteration 1 begins again"
    _fit(Kept, tmp_path / "whole", Plan(2), 1)
    whole, broken = (
        {p.name: p.read_bytes() for p in (tmp_path / k / "fit").iterdir()}
        for k in ("whole", "broken")
    )
    assert whole == broken

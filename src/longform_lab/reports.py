"""Stages that show results: the tables and figures of a paper, and the ledger of all papers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.errors import BadInput, ConfigError, did_you_mean
from longform.files.artefacts import atomic_write, read_yaml
from longform.results import Results, read_results
from longform.settings import KIND, Nothing, parse_kind
from longform.tables import write_rows
from longform_lab.experiment import Experiment, from_scratch, with_groups
from longform_lab.reporting.pivot import ReportInputs
from longform_lab.reporting.printed import Line, ledger_markdown, read_expected
from longform_lab.reporting.verdicts import Judged, claims_markdown, write_claims
from longform_lab.settings.entries import Sheet
from longform_lab.settings.papers import PAPERS

EXPERIMENTS = Path("experiments")


def with_derived(paper: str, results: Results) -> Results:
    """Records together with those that a paper derives from them for its exhibits and claims.

    Raises:
        ConfigError: no such paper.
    """
    if paper not in PAPERS:
        raise ConfigError(
            f"there is no paper {paper!r}{did_you_mean(paper, PAPERS)}; "
            f"allowed are {sorted(PAPERS)}, or add it to longform_lab/settings/papers.py"
        )
    return Results([*results, *PAPERS[paper].derived(results)])


def report(experiment: Experiment, paper: str, subject: str) -> None:
    """Draw the exhibits of one subject of a paper.

    Writes ``paper_figures/<paper>/<exhibit>/``.
    """
    entry = _report_entry(experiment, paper, subject)
    # 1. The inputs of all exhibits: records, printed numbers and settings of decoders.
    results = with_derived(paper, scores(experiment, entry["scores"]))
    chosen = {}
    for name, choice in entry["exhibits"].items():
        chosen[name] = _with_models(experiment, choice or {})
    printed = read_expected(EXPERIMENTS / paper, scale_of(experiment), chosen)
    expected = replace(printed, from_scratch=from_scratch(experiment))
    decoders: dict[str, Any] = {}
    for decoders_of_list in experiment.decoders("facts").values():
        decoders.update(decoders_of_list)
    inputs = ReportInputs(results, expected, experiment.data, decoders=decoders)
    # 2. Each in its folder.
    for exhibit in entry["exhibits"]:
        sheet = drawn(f"reports.{subject}", paper, entry, replace(inputs, name=exhibit))
        with atomic_write(experiment.home / "paper_figures" / paper / exhibit) as folder:
            folder.mkdir()
            sheet.save(folder, exhibit)
        print(f"report {paper}: {exhibit}", flush=True)


def _report_entry(experiment: Experiment, paper: str, subject: str) -> Mapping[str, Any]:
    """Read one report of a paper; in its settings groups are replaced by names of models.

    Raises:
        BadInput: there is no such report, or the paper's file is not there.
    """
    path = EXPERIMENTS / paper / "params.yaml"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; reports are asked for from the repository's root")
    subjects = (read_yaml(path) or {}).get("reports", {})
    if subject not in subjects:
        raise BadInput(f"{path} has no report {subject!r}{did_you_mean(subject, subjects)}")
    entry = subjects[subject]
    settings = {}
    for name, own_settings in entry.get("settings", {}).items():
        settings[name] = _with_models(experiment, own_settings)
    return {**entry, "settings": settings}


def drawn(
    place: str, paper: str, entry: Mapping[str, Any], inputs: ReportInputs, **more: Any
) -> Sheet:
    """Draw one exhibit of a report's entry.

    Args:
        place: of the entry, for errors.
        paper: a key of ``PAPERS``.
        entry: a report: its ``settings`` say the kind of an exhibit, which by default has its name.
        inputs: what it is drawn from; its name is the exhibit's.
        more: settings that replace those of the entry.
    """
    settings = {KIND: inputs.name, **entry.get("settings", {}).get(inputs.name, {}), **more}
    file = f"experiments/{paper}/params.yaml"
    where = f"{place}.settings.{inputs.name}"
    _, exhibit = parse_kind(PAPERS[paper].exhibits, Nothing, settings, where, file)
    return exhibit.draw(inputs)


def _with_models(experiment: Experiment, choice: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an exhibit with ``STUDY.models`` and other groups replaced by names of models.

    Groups stand below ``system`` and ``systems``, alone or in a list. ``STUDY.models`` includes the
    study's ladder of sizes, since claims about every system concern these too.
    """
    shown = dict(choice)
    for name in ("system", "systems"):
        value = shown.get(name)
        if isinstance(value, str) and "." in value:
            value = [value]
        if isinstance(value, list):
            shown[name] = with_groups(experiment, value)
    return shown


def scores(experiment: Experiment, places: list[str]) -> Results:
    """Records of score files, named ``<study>/<critic>``, or of all critics of a ``<study>``."""
    paths = []
    for name in places:
        paths.append(experiment.data / "scores" / (f"{name}.json" if "/" in name else name))
    return read_results(*paths)


def scale_of(experiment: Experiment) -> str:
    """The name by which claims know the scale that wrote the parameters.

    The root's own is ``default``.
    """
    return str(experiment.params.get("scale", "default"))


def ledger(experiment: Experiment) -> None:
    """Every printed number and every claim of the papers, with ours -> ``paper_figures/ledger``."""
    results = read_results(experiment.data / "scores")
    claims: list[Judged] = []
    lines: list[Line] = []
    for path in sorted(EXPERIMENTS.glob("*/expected.yaml")):
        paper = read_expected(path.parent, scale_of(experiment))
        derived = with_derived(paper.paper, results)
        claims += paper.judged(derived, experiment.data)
        lines += paper.ledger(derived, experiment.data)
    with atomic_write(experiment.home / "paper_figures" / "ledger") as folder:
        folder.mkdir()
        write_claims(folder / "claims.csv", claims)
        write_rows(folder / "ledger.csv", Line._fields, lines)
        text = f"{claims_markdown(claims)}\n{ledger_markdown(lines)}"
        (folder / "ledger.md").write_text(text, encoding="utf-8")

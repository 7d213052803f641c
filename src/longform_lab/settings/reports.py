"""What the papers' reports ask of ``dvc.yaml``, and a check of both before any stage runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from longform.errors import ConfigError, did_you_mean
from longform.files.yaml_dialect import YamlReader
from longform.settings import KIND, Nothing, Settings, parameter, parse, parse_kind
from longform_lab.scale_overrides import exhibit_folders, score_files
from longform_lab.settings.papers import PAPERS

EXPERIMENTS = Path("experiments")
Report = Mapping[str, Any]  # an entry below ``reports`` of experiments/<paper>/params.yaml


class ReportEntry(Settings):
    """A report of a paper: its tables and figures, and what they are drawn from."""

    scores: list[str] = parameter("Files of records below ``data/scores``, without their ending.")
    exhibits: dict[str, dict[str, Any] | None] = parameter(
        "Its tables and figures, each with the fields to which its records are restricted."
    )
    settings: dict[str, dict[str, Any]] = parameter("What each takes, by its name.", {})


def read_reports(home: Path = Path()) -> dict[str, Mapping[str, Report]]:
    """The reports of each paper, from ``experiments/<paper>/params.yaml``.

    Raises:
        OSError: a file that cannot be read.
        yaml.YAMLError: a file that is no YAML.
    """
    reports = {}
    for path in sorted((home / EXPERIMENTS).glob("*/params.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), YamlReader) or {}
        reports[path.parent.name] = content.get("reports", {})
    return reports


def exhibit_settings(report: Report, exhibit: str) -> dict[str, Any]:
    """What a report says of a table or figure; its kind is its own name unless settings say one."""
    return {KIND: exhibit, **(report.get("settings") or {}).get(exhibit, {})}


def check_reports(reports: Mapping[str, Mapping[str, Report]], pipeline: Mapping[str, Any]) -> int:
    """Check every table and figure of the papers; returns their number.

    Args:
        reports: of each paper, its reports by name.
        pipeline: the content of ``dvc.yaml``; a report without a stage there is not run by DVC.

    Raises:
        ConfigError: a kind or a setting that is wrong, or a stage of ``dvc.yaml`` that does not
            wait for the report's scores or does not list its tables and figures.
    """
    count = 0
    for paper, subjects in reports.items():
        # 1. The paper.
        file = f"experiments/{paper}/params.yaml"
        if subjects and paper not in PAPERS:
            raise ConfigError(
                f"{file} has reports, and there is no paper "
                f"{paper!r}{did_you_mean(paper, PAPERS)}; "
                "add it to src/longform_lab/settings/papers.py"
            )
        for subject, report in subjects.items():
            # 2. The report's tables and figures.
            parse(ReportEntry, report, f"reports.{subject}", file)
            for exhibit in report["exhibits"]:
                position = f"reports.{subject}.settings.{exhibit}"
                settings = exhibit_settings(report, exhibit)
                parse_kind(PAPERS[paper].exhibits, Nothing, settings, position, file)
                count += 1
            # 3. Its stage, if DVC runs it.
            name = f"report_{paper}_{subject}"
            stage = (pipeline.get("stages") or {}).get(name)
            if stage is not None:
                _check_stage(name, stage, paper, report)
    return count


def _check_stage(name: str, stage: Mapping[str, Any], paper: str, report: Report) -> None:
    """Raises ConfigError: the first score or folder that the stage of a report does not list."""
    for path in score_files(report):
        if path not in stage["deps"]:
            raise ConfigError(
                f"dvc.yaml: stage {name} does not wait for {path}, which its report reads; "
                f"add {path} to its deps"
            )
    outs = [out if isinstance(out, str) else next(iter(out)) for out in stage["outs"]]
    for folder in exhibit_folders(paper, report):
        if folder not in outs:
            raise ConfigError(
                f"dvc.yaml: stage {name} does not list {folder}, which its report writes; "
                f'add {{"{folder}": {{cache: false}}}} to its outs'
            )

"""Saves each critic's result at once, so that a comparison that was stopped can be resumed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longform.criticize.panels import Options, Panel
from longform.criticize.report import MAKER, CriticResult
from longform.documents import Document
from longform.files.fingerprints import fingerprint
from longform.language_models.named_models import NamedModel
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.statistics.signatures import signature


class ResultsSoFar:
    """A file of JSON lines, one result a line, each with a key of all that it depends on.

    Args:
        path: the file; None where nothing is saved or resumed.
        documents: all texts that are compared.
        options: a person's choices of models and seed.
        paired: whether texts that systems wrote from one prompt are compared with each other, which
            changes the tests.

    Attributes:
        inputs: the key of texts, options and pairing; empty where nothing is saved.
        lines: critic's name -> its record; only records with this key.
    """

    def __init__(
        self,
        path: Path | None,
        documents: Sequence[Document],
        options: Options,
        paired: bool = False,
    ) -> None:
        # 1. The key of what all results depend on; pairing changes them, and not the texts.
        self.path = path
        self.inputs = _fingerprint(documents, options) if path is not None else ""
        if paired:
            self.inputs += " paired"
        self.lines: dict[str, Mapping[str, Any]] = {}
        if path is None or not path.is_file():
            return
        # 2. Earlier results with this key, the last of each critic. A line that is no record, as
        # one cut short, has no key.
        for line in path.read_text(encoding="utf-8").splitlines():
            record = _record(line)
            if record.get("inputs") == self.inputs:
                self.lines[record["critic"]] = record

    def find(self, panel: Panel) -> CriticResult | None:
        """The critic's result of an earlier run with the same texts and settings; None if none."""
        record = self.find_record(panel)
        return None if record is None else result_from(panel, record)

    def add(self, result: CriticResult) -> None:
        """Save a result of two sides; see :meth:`add_record`."""
        self.add_record(result.panel, record_of(result))

    def find_record(self, panel: Panel) -> Mapping[str, Any] | None:
        """The record of an earlier run with the same texts and settings; None if none."""
        record = self.lines.get(panel.name)
        if record is None or record["signature"] != signature(panel.critic):
            return None
        return record

    def add_record(self, panel: Panel, result: Mapping[str, Any]) -> None:
        """Save a critic's result by rewriting the file with it.

        The file loses records of other texts or settings, which ``lines`` does not hold.

        Args:
            panel: the critic.
            result: its result as plain data.
        """
        if self.path is None:
            return
        head = {
            "made_by": MAKER,
            "inputs": self.inputs,
            "critic": panel.name,
            "signature": signature(panel.critic),
        }
        self.lines[panel.name] = {**head, **result}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.partial")
        lines = [json.dumps(line) + "\n" for line in self.lines.values()]
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(self.path)


def record_of(result: CriticResult) -> dict[str, Any]:
    """A result as plain data for JSON, without its panel; see :func:`result_from`."""
    return {
        "real": asdict(result.real),
        "generated": asdict(result.generated),
        "difference": asdict(result.difference),
        "blame": result.blame,
        "unknown": result.unknown,
        "p_values": result.p_values,
        "cut": result.cut,
        "words": result.words,
    }


def result_from(panel: Panel, record: Mapping[str, Any]) -> CriticResult:
    """A result from what :func:`record_of` made of it, and the panel that it belongs to."""
    blame = {}
    for name, rows in record["blame"].items():
        blame[name] = [(value, (start, end)) for value, (start, end) in rows]
    return CriticResult(
        panel=panel,
        real=Estimate(**record["real"]),
        generated=Estimate(**record["generated"]),
        difference=Comparison(**record["difference"]),
        blame=blame,
        unknown=(record["unknown"][0], record["unknown"][1]),
        p_values=tuple(record["p_values"]),
        cut=(record["cut"][0], record["cut"][1]),
        words=(record["words"][0], record["words"][1]),
    )


def _record(line: str) -> dict[str, Any]:
    """Parse a line of the file; an empty record where it is no JSON object."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _fingerprint(documents: Sequence[Document], options: Options) -> str:
    """A hash of all texts, the options, and the files of the models."""
    encoder = NamedModel("", options.encoder, {}) if options.encoder else None
    parts: list[Any] = [[options.seed, options.packaged, options.packaged_encoder]]
    for document in documents:
        parts.append([document.split, document.to_record()])
    for model in (options.model, encoder):
        parts.append(model.stamps() if model else [])
    return fingerprint(parts)

"""``python -m longform_lab.study make|invite|serve|export|withdraw|analyse``.

Texts to a study, its links, pages and answers.
"""

import argparse
import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from longform.documents import Document, grouped
from longform.errors import BadInput
from longform.evaluation.human_study import (
    CoherentShare,
    Judged,
    judged_items,
    organisations,
)
from longform.extras import exit_if_missing
from longform.results import Record, Results
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.tables import Cell, Table
from longform_lab.reporting.pivot import ReportInputs
from longform_lab.reporting.printed import Expected
from longform_lab.study import items
from longform_lab.study.items import Study, load_study
from longform_lab.study.store import Store
from longform_lab.study.tables import human_study

EVERYWHERE = ("0.0.0.0", "::")  # every address of this machine, none of which a browser can name
ARTICLES = 5  # ours: training articles, where nobody asks for more or fewer
COLUMNS = (
    "annotator",
    "item",
    "source",
    "phase",
    "check",
    "question",
    "answer",
    "gold",
    "at",
    "last",
)
MARKS = ("check", "last")  # true or false
EXPECTED = Expected("study", {})  # nothing is printed about other people's studies


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; bad input is one sentence and exit code 2."""
    options = _parser().parse_args(arguments)
    try:
        with exit_if_missing("study"):
            options.run(options)
    except BadInput as error:
        print(f"study: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    """The parser of the command and its verbs."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.study", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_make(verbs)
    _add_verbs_of_a_study(verbs)
    _add_analyse(verbs)
    power = verbs.add_parser("power", help="judgements per system to tell two shares apart")
    power.add_argument("shares", type=float, nargs=2, help="the two shares, from 0 to 1")
    power.set_defaults(run=lambda options: print(items.needed(*options.shares)))
    return parser


def _add_make(verbs: Any) -> None:
    """The verb that makes a study."""
    make = verbs.add_parser("make", help="a study file from corpora, or from an exported sheet")
    add = make.add_argument
    add("kind", choices=("sections", "claim", "pair"), help="what annotators judge")
    add("--name", required=True, help="name of the study")
    add("--out", type=Path, required=True, help="the study file to write")
    add("--train", type=Path, help="sections: folder of real articles with titles")
    add("--articles", type=int, help=f"sections: training articles ({ARTICLES}, or all if fewer)")
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="sections: texts to be judged",
    )
    add("--per-system", type=int, default=20, help="sections: articles of each system (20)")
    add("--sheet", type=Path, help="claim, pair: a .jsonl or .csv sheet")
    add("--seed", type=int, default=1234, help="of all draws (1234)")
    make.set_defaults(run=_make)


def _add_verbs_of_a_study(verbs: Any) -> None:
    """The verbs that need a study and its answers."""
    # 1. Each with options of its own.
    invite = verbs.add_parser("invite", help="a link for each annotator")
    invite.add_argument("labels", nargs="+", help="a name for each new annotator")
    invite.add_argument(
        "--host",
        default="127.0.0.1:8000",
        help="as links name the server; https:// before it where a proxy has TLS",
    )
    serve = verbs.add_parser("serve", help="the pages, on this machine alone unless told otherwise")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="port to listen on (8000)")
    serve.add_argument(
        "--name",
        action="append",
        default=[],
        help="a name or address that annotators use; may be repeated",
    )
    export = verbs.add_parser("export", help="answers as JSONL (.jsonl) or as a table (.csv)")
    export.add_argument("--out", type=Path, required=True, help="the file to write")
    withdraw = verbs.add_parser(
        "withdraw",
        help="delete the answers, the consent and the link of annotators who ask for it",
    )
    withdraw.add_argument("labels", nargs="+", help="the annotators' names")
    # 2. And those of all.
    for verb, run in ((invite, _invite), (serve, _serve), (export, _export), (withdraw, _withdraw)):
        verb.add_argument("--study", type=Path, required=True, help="the study file")
        verb.add_argument("--answers", type=Path, required=True, help="the SQLite file")
        verb.set_defaults(run=run)


def _add_analyse(verbs: Any) -> None:
    """The verb that reads an export."""
    analyse = verbs.add_parser(
        "analyse", help="shares, agreement and mixed effects of exported answers"
    )
    analyse.add_argument("export", type=Path, help="the .csv or .jsonl that export wrote")
    analyse.add_argument(
        "--out", type=Path, help="folder for the tables; else they are printed alone"
    )
    analyse.set_defaults(run=_analyse)


def _make(options: argparse.Namespace) -> None:
    """Write a study, of corpora or of a sheet."""
    if options.kind != "sections" and options.sheet is None:
        raise BadInput(f"a {options.kind} study needs --sheet FILE")
    if options.kind == "sections":
        study = _from_corpora(options)
    else:
        study = items.rows_study(items.sheet(options.sheet), options.name, options.kind)
    study.save(options.out)
    print(f"{options.out}: {len(study.items)} items")


def _from_corpora(options: argparse.Namespace) -> Study:
    """A study of sections: the first titled training articles, and what every system wrote."""
    if options.train is None or not options.system:
        raise BadInput(
            "a sections study needs --train FOLDER and at least one --system NAME=FOLDER"
        )
    # 1. The articles.
    systems = _documents_of_systems(options.system)
    training = _training_articles(options.train, options.articles)
    study = items.sections_study(
        training, systems, name=options.name, per_system=options.per_system, seed=options.seed
    )
    # 2. How many of them are in the study.
    num_drawn = Counter(item.source for item in study.items if item.phase == "testing")
    print(f"training: {len(training)} articles with all their titles")
    for name, documents in systems.items():
        print(
            f"{name}: {num_drawn[name]} of {len(documents)} articles drawn; "
            "those shown in training are not among them"
        )
    return study


def _documents_of_systems(options: Sequence[str]) -> dict[str, list[Document]]:
    """The articles of each system. Raises BadInput: an option is not NAME=FOLDER, or repeats."""
    systems: dict[str, list[Document]] = {}
    for option in options:
        name, _, folder = option.partition("=")
        if not name or not folder:
            raise BadInput(f"--system {option!r}: a system is NAME=FOLDER; write both")
        if name in systems:
            raise BadInput(f"--system {name!r} is given twice; give each folder a name of its own")
        systems[name] = items.documents(Path(folder))
    return systems


def _training_articles(folder: Path, count: int | None) -> list[Document]:
    """The first articles of the split train that have all their titles.

    Args:
        folder: of their corpus.
        count: how many; None for ``ARTICLES`` at most.

    Raises:
        BadInput: there is none, or fewer than asked for.
    """
    titled = []
    for document in items.documents(folder):
        if document.split == "train" and all(section.title for section in document.sections):
            titled.append(document)
    if not titled:
        raise BadInput(
            f"{folder}: no article of the split train has all its titles; name another corpus"
        )
    if count is None:
        return titled[:ARTICLES]
    if not 1 <= count <= len(titled):
        raise BadInput(
            f"--articles {count}: {folder} has {len(titled)} training articles; "
            f"ask for 1 to {len(titled)}"
        )
    return titled[:count]


def _invite(options: argparse.Namespace) -> None:
    load_study(options.study)
    address = options.host if "://" in options.host else f"http://{options.host}"
    for label, token in Store(options.answers).invite_all(options.labels).items():
        print(f"{label}: {address.rstrip('/')}/enter/{token}")


def _serve(options: argparse.Namespace) -> None:
    """Serve a study's pages until the process ends."""
    import uvicorn

    from longform_lab.study.app import LOCAL, create_app

    if options.host in EVERYWHERE and not options.name:
        raise BadInput(
            f"--host {options.host} is no address that pages have; add --name, the one in the links"
        )
    if options.host not in ("::1", *LOCAL):
        print(f"study: serving on {options.host}, which other machines may reach", file=sys.stderr)
    app = create_app(
        load_study(options.study), Store(options.answers), (*LOCAL, options.host, *options.name)
    )
    uvicorn.run(app, host=options.host, port=options.port, log_level="warning")


def _withdraw(options: argparse.Namespace) -> None:
    load_study(options.study)
    for label, count in _opened(options.answers).withdraw(options.labels).items():
        print(f"{label}: {count} answers deleted; exports that were written before still hold them")


def _opened(answers: Path) -> Store:
    if not answers.is_file():
        raise BadInput(
            f"{answers}: no such file; name the --answers that `invite` and `serve` were given"
        )
    return Store(answers)


def _export(options: argparse.Namespace) -> None:
    """Write all answers of a study as CSV or JSON lines."""
    if options.out.suffix not in (".csv", ".jsonl"):
        raise BadInput(f"{options.out}: an export is .csv or .jsonl; name --out so")
    rows = exported(load_study(options.study), _opened(options.answers))
    text = io.StringIO(newline="")
    if options.out.suffix == ".csv":
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        text.writelines(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
    items.write(options.out, text.getvalue())
    print(f"{options.out}: {len(rows)} answers")


def _analyse(options: argparse.Namespace) -> None:
    """Print, and save, the tables of an export."""
    tables = analyse(read_export(options.export))
    if options.out is not None:
        try:
            options.out.mkdir(parents=True, exist_ok=True)
            for table, stem in zip(tables, ("human_study", "organisations"), strict=True):
                table.save(options.out, stem)
        except OSError as error:
            raise BadInput(
                f"{options.out}: cannot be written ({error.strerror}); name a folder as --out"
            ) from error
    for table in tables:
        print(table.markdown())


def exported(study: Study, store: Store) -> list[dict[str, Any]]:
    """One row per question of every answer.

    Earlier answers to the same item have ``last`` false.
    """
    rows = []
    for answer in store.answers():
        item = study.item(answer["item"])
        for number, (question, _) in enumerate(items.questions(item)):
            rows.append(
                {
                    "annotator": answer["annotator"],
                    "item": item.id,
                    "source": item.source,
                    "phase": item.phase,
                    "check": item.check,
                    "question": question,
                    "answer": answer["answer"].get(question, ""),
                    "gold": item.gold[number] if number < len(item.gold) else "",
                    "at": answer["at"],
                    "last": answer["last"],
                }
            )
    return rows


def read_export(path: Path) -> list[dict[str, Any]]:
    """Rows of ``export``, CSV or JSON lines.

    Also as a spreadsheet saves them: a byte-order mark, TRUE for True.

    Raises:
        BadInput: no row, one that lacks a column, or one whose marks are neither true nor false.
    """
    try:
        rows = items.sheet(path)
    except BadInput as error:
        raise BadInput(f"{path}: not an export ({error}); write it with `export`") from error
    # 1. Every row has every column; only the time may be empty.
    lacking = set()
    for row in rows:
        for name in COLUMNS:
            if name != "at" and row.get(name) is None:
                lacking.add(name)
    if lacking or not rows:
        problem = f"rows without {sorted(lacking)}" if rows else "no row"
        raise BadInput(f"{path}: {problem}; write it with `export`")
    # 2. Marks are words in a table.
    for number, row in enumerate(rows, 1):
        for name in MARKS:
            word = str(row[name]).strip().lower()
            if word not in ("true", "false"):
                allowed = "allowed are True and False, so export anew"
                raise BadInput(f"{path}: row {number}: {name} is {row[name]!r:.40}; {allowed}")
            row[name] = word == "true"
    return rows


def analyse(rows: Sequence[Mapping[str, Any]], seed: int = 1234) -> list[Table]:
    """Two tables of a study of sections.

    Args:
        rows: of an export.
        seed: of the resamples and permutations.

    Returns:
        Shares, agreement, mixed effects and tests of systems against the first one; and the
        organisations called incoherent (deng2022 Table 18).

    Raises:
        BadInput: no verdict on any article.
    """
    # 1. Articles of each system; the answers to attention checks alone have a gold one.
    answers = []
    for row in rows:
        if row["question"] == "coherent" or str(row["question"]).startswith("section_"):
            is_check = str(row["check"]) == "True"
            answers.append({**row, "gold": row["gold"] if is_check else ""})
    units = judged_items(answers, splits={}, simulated=False)
    by_source = grouped(units, lambda unit: unit.source)
    if not any(unit.verdicts for unit in units):
        raise BadInput("study: no verdict on an article; only studies of sections have them")
    # 2. The share of each.
    critic = CoherentShare()
    records, statistics = [], {}
    for source, of_source in by_source.items():
        statistics[source] = critic.sufficient_statistics(of_source)
    for source, of_source in by_source.items():
        share = estimate(critic, statistics[source], generator("study", source, str(seed)))
        details = critic.describe(of_source)
        records.append(
            Record("human_study", "coherent_share", system=source, details=details, **asdict(share))
        )
    shares = human_study(ReportInputs(Results(records), EXPECTED, Path()))
    # 3. Tests against the first, and the organisations called incoherent.
    tests = _tests_against_the_first(critic, statistics, seed)
    with_tests = replace(shares, cells=[*shares.cells, *tests])
    return [with_tests, _organisations(by_source)]


def _tests_against_the_first(
    critic: CoherentShare, statistics: Mapping[str, SufficientStatistics], seed: int
) -> list[Cell]:
    """Each other system's share minus the first one's."""
    first, *others = statistics
    cells = []
    for source in others:
        rng = generator("study", source, "against", first, str(seed))
        test = compare(critic, statistics[source], statistics[first], rng)
        labels = (EXPECTED.label("system", source), EXPECTED.label("system", first))
        num_units = min(len(statistics[source].unit_ids), len(statistics[first].unit_ids))
        how: dict[str, Any] = {
            "p_value": test.p_value,
            "signature": "permutation of articles",
            "units": num_units,
        }
        row = " minus ".join(labels)
        cells.append(Cell(row, "share, articles exchanged", test.difference, **how))
    return cells


def _organisations(by_source: Mapping[str, Sequence[Judged]]) -> Table:
    """How often each chain of section types was called incoherent, by system."""
    cells = []
    for source, units in by_source.items():
        for chain, count in organisations(units):
            cells.append(Cell(" → ".join(chain), source, count, signature="judgements"))
    caption = "Organisations of the articles called incoherent, most common first in each system"
    notes = [] if cells else ["nobody called an article incoherent"]
    return Table(caption, cells, notes)


if __name__ == "__main__":
    sys.exit(main())

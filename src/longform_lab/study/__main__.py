"""``python -m longform_lab.study make|invite|serve|export|withdraw|analyse``: texts to a study, its links, pages and answers."""

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

from longform.documents import grouped
from longform.errors import BadInput
from longform.evaluation.human_study import CoherentShare, judged_items, organisations
from longform.extras import told
from longform.results import Record, Results
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from longform.tables import Cell, Table
from longform_lab.reporting.pivot import Given
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
    given = _parser().parse_args(arguments)
    try:
        with told("study"):
            given.run(given)
    except BadInput as error:
        print(f"study: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m longform_lab.study", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    make = verbs.add_parser("make", help="a study file from corpora, or from an exported sheet")
    add = make.add_argument
    add("kind", choices=("sections", "claim", "pair"))
    add("--name", required=True)
    add("--out", type=Path, required=True)
    add("--train", type=Path, help="sections: folder of real articles with titles")
    add("--articles", type=int, help=f"sections: training articles ({ARTICLES}, or all if fewer)")
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="sections: texts to be judged",
    )
    add("--per-system", type=int, default=20)
    add("--sheet", type=Path, help="claim, pair: a .jsonl or .csv sheet")
    add("--seed", type=int, default=1234)
    make.set_defaults(run=_make)
    invite = verbs.add_parser("invite", help="a link for each annotator")
    invite.add_argument("labels", nargs="+")
    told = "as links name the server; https:// before it where a proxy has TLS"
    invite.add_argument("--host", default="127.0.0.1:8000", help=told)
    serve = verbs.add_parser("serve", help="the pages, on this machine alone unless told otherwise")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    told = "a name or address that annotators use; may be repeated"
    serve.add_argument("--name", action="append", default=[], help=told)
    export = verbs.add_parser("export", help="answers as JSONL (.jsonl) or as a table (.csv)")
    export.add_argument("--out", type=Path, required=True)
    told = "delete the answers, the consent and the link of annotators who ask for it"
    withdraw = verbs.add_parser("withdraw", help=told)
    withdraw.add_argument("labels", nargs="+")
    for verb, run in ((invite, _invite), (serve, _serve), (export, _export), (withdraw, _withdraw)):
        verb.add_argument("--study", type=Path, required=True)
        verb.add_argument("--answers", type=Path, required=True, help="the SQLite file")
        verb.set_defaults(run=run)
    analyse = verbs.add_parser(
        "analyse", help="shares, agreement and mixed effects of exported answers"
    )
    analyse.add_argument("export", type=Path, help="the .csv or .jsonl that export wrote")
    analyse.add_argument(
        "--out", type=Path, help="folder for the tables; else they are printed alone"
    )
    analyse.set_defaults(run=_analyse)
    power = verbs.add_parser("power", help="judgements per system to tell two shares apart")
    power.add_argument("shares", type=float, nargs=2)
    power.set_defaults(run=lambda given: print(items.needed(*given.shares)))
    return parser


def _make(given: argparse.Namespace) -> None:
    if given.kind != "sections" and given.sheet is None:
        raise BadInput(f"a {given.kind} study needs --sheet FILE")
    rows = given.kind != "sections"
    study = (
        items.rows_study(items.sheet(given.sheet), given.name, given.kind)
        if rows
        else _from_corpora(given)
    )
    study.save(given.out)
    print(f"{given.out}: {len(study.items)} items")


def _from_corpora(given: argparse.Namespace) -> Study:
    """The first titled training articles, as many as wanted or ``ARTICLES`` at most, and what every system wrote."""
    if given.train is None or not given.system:
        raise BadInput(
            "a sections study needs --train FOLDER and at least one --system NAME=FOLDER"
        )
    systems = {}
    for one in given.system:
        name, _, folder = one.partition("=")
        if not name or not folder:
            raise BadInput(f"--system {one!r}: a system is NAME=FOLDER; write both")
        if name in systems:
            raise BadInput(f"--system {name!r} is given twice; give each folder a name of its own")
        systems[name] = items.documents(Path(folder))
    titled = [
        d
        for d in items.documents(given.train)
        if d.split == "train" and all(s.title for s in d.sections)
    ]
    most, wanted = len(titled), given.articles
    if not titled:
        raise BadInput(
            f"{given.train}: no article of the split train has all its titles; name another corpus"
        )
    if wanted is not None and not 1 <= wanted <= most:
        raise BadInput(
            f"--articles {wanted}: {given.train} has {most} training articles; ask for 1 to {most}"
        )
    training = titled[: ARTICLES if wanted is None else wanted]
    study = items.sections_study(
        training, systems, name=given.name, per_system=given.per_system, seed=given.seed
    )
    drawn = Counter(item.source for item in study.items if item.phase == "testing")
    print(f"training: {len(training)} articles with all their titles")
    for name, found in systems.items():
        print(
            f"{name}: {drawn[name]} of {len(found)} articles drawn; those shown in training are not among them"
        )
    return study


def _invite(given: argparse.Namespace) -> None:
    load_study(given.study)
    address = given.host if "://" in given.host else f"http://{given.host}"
    for label, token in Store(given.answers).invite_all(given.labels).items():
        print(f"{label}: {address.rstrip('/')}/enter/{token}")


def _serve(given: argparse.Namespace) -> None:
    import uvicorn

    from longform_lab.study.app import LOCAL, create_app

    if given.host in EVERYWHERE and not given.name:
        raise BadInput(
            f"--host {given.host} is no address that pages have; add --name, the one in the links"
        )
    if given.host not in ("::1", *LOCAL):
        print(f"study: serving on {given.host}, which other machines may reach", file=sys.stderr)
    app = create_app(
        load_study(given.study), Store(given.answers), (*LOCAL, given.host, *given.name)
    )
    uvicorn.run(app, host=given.host, port=given.port, log_level="warning")


def _withdraw(given: argparse.Namespace) -> None:
    load_study(given.study)
    for label, count in _opened(given.answers).withdraw(given.labels).items():
        print(f"{label}: {count} answers deleted; exports that were written before still hold them")


def _opened(answers: Path) -> Store:
    if not answers.is_file():
        raise BadInput(
            f"{answers}: no such file; name the --answers that `invite` and `serve` were given"
        )
    return Store(answers)


def _export(given: argparse.Namespace) -> None:
    if given.out.suffix not in (".csv", ".jsonl"):
        raise BadInput(f"{given.out}: an export is .csv or .jsonl; name --out so")
    rows = exported(load_study(given.study), _opened(given.answers))
    text = io.StringIO(newline="")
    if given.out.suffix == ".csv":
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        text.writelines(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
    items.write(given.out, text.getvalue())
    print(f"{given.out}: {len(rows)} answers")


def _analyse(given: argparse.Namespace) -> None:
    tables = analyse(read_export(given.export))
    if given.out is not None:
        try:
            given.out.mkdir(parents=True, exist_ok=True)
            for table, stem in zip(tables, ("human_study", "organisations"), strict=True):
                table.save(given.out, stem)
        except OSError as error:
            raise BadInput(
                f"{given.out}: cannot be written ({error.strerror}); name a folder as --out"
            ) from error
    for table in tables:
        print(table.markdown())


def exported(study: Study, store: Store) -> list[dict[str, Any]]:
    """One row per question of every answer; earlier answers to the same item have ``last`` false."""
    rows = []
    for one in store.answers():
        item = study.item(one["item"])
        for place, (question, _) in enumerate(items.questions(item)):
            said, gold = (
                one["answer"].get(question, ""),
                item.gold[place] if place < len(item.gold) else "",
            )
            told = (
                one["annotator"],
                item.id,
                item.source,
                item.phase,
                item.check,
                question,
                said,
                gold,
            )
            rows.append(dict(zip(COLUMNS, (*told, one["at"], one["last"]), strict=True)))
    return rows


def read_export(path: Path) -> list[dict[str, Any]]:
    """Rows of ``export``, CSV or JSON lines, also as a spreadsheet saves them: a byte-order mark, TRUE for True. Raises BadInput."""
    try:
        rows = items.sheet(path)
    except BadInput as error:
        raise BadInput(f"{path}: not an export ({error}); write it with `export`") from error
    lacking = sorted(
        {name for row in rows for name in COLUMNS if name != "at" and row.get(name) is None}
    )
    if lacking or not rows:
        raise BadInput(
            f"{path}: {f'rows without {lacking}' if rows else 'no row'}; write it with `export`"
        )
    for place, row in enumerate(rows, 1):
        for name in MARKS:
            word = str(row[name]).strip().lower()
            if word not in ("true", "false"):
                allowed = "allowed are True and False, so export anew"
                raise BadInput(f"{path}: row {place}: {name} is {row[name]!r:.40}; {allowed}")
            row[name] = word == "true"
    return rows


def analyse(rows: Sequence[Mapping[str, Any]], seed: int = 1234) -> list[Table]:
    """The table of shares, agreement, mixed effects and tests of systems against the first one, and that of the organisations
    called incoherent (Table 18). Raises BadInput: no verdict on any article."""
    judged = [
        row
        for row in rows
        if row["question"] == "coherent" or str(row["question"]).startswith("section_")
    ]
    told = [{**row, "gold": row["gold"] if str(row["check"]) == "True" else ""} for row in judged]
    by_source = grouped(judged_items(told, splits={}, simulated=False), lambda unit: unit.source)
    if not any(unit.verdicts for units in by_source.values() for unit in units):
        raise BadInput("study: no verdict on an article; only studies of sections have them")
    critic = CoherentShare()
    all_statistics = {
        source: critic.sufficient_statistics(units) for source, units in by_source.items()
    }
    records, tests = [], []
    for source, units in by_source.items():
        found = estimate(critic, all_statistics[source], generator("study", source, str(seed)))
        details = critic.describe(units)
        records.append(
            Record("human_study", "coherent_share", system=source, details=details, **asdict(found))
        )
    first, *others = by_source
    for source in others:
        rng = generator("study", source, "against", first, str(seed))
        tested = compare(critic, all_statistics[source], all_statistics[first], rng)
        row = " minus ".join(EXPECTED.label("system", name) for name in (source, first))
        least = min(len(all_statistics[name].unit_ids) for name in (source, first))
        how: dict[str, Any] = {
            "p_value": tested.p_value,
            "signature": "permutation of articles",
            "units": least,
        }
        tests.append(Cell(row, "share, articles exchanged", tested.difference, **how))
    shares = human_study(Given(Results(records), EXPECTED, Path()))
    said = [(source, *row) for source, units in by_source.items() for row in organisations(units)]
    chains = [
        Cell(" → ".join(chain), source, count, signature="judgements")
        for source, chain, count in said
    ]
    caption = "Organisations of the articles called incoherent, most common first in each system"
    notes = [] if chains else ["nobody called an article incoherent"]
    return [replace(shares, cells=[*shares.cells, *tests]), Table(caption, chains, notes)]


if __name__ == "__main__":
    sys.exit(main())

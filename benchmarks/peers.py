"""The same jobs by this package and by its neighbours: lines, seconds, installed megabytes.

``PYTHONPATH=src:. python -m benchmarks.peers [--python TOOL=PYTHON ...] [--json FILE]``. A tool
that is not installed beside this package is run by a Python that has it: textdescriptives 2.8 needs
numpy below 2. All read the bundled texts and the small GPT-2 of ``data/bases``, so that nothing is
downloaded; that is a network of a few hundred thousand weights, so that the seconds are mostly
imports.

- lines: of the program below, imports among them;
- seconds: processor time of a process that runs it, imports among it, the best of :data:`RUNS`;
- megabytes: files of the package and of all that it requires, extras left out, by their own lists.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS = 2
NETWORK = "gpt2"  # MAUVE knows a kind of network by its name
# A program that writes what the others read: texts, and pairs of a sentence and its reverse.
TEXTS = """from pathlib import Path
from longform.examples import machine_articles, real_articles
import csv, json
real = [article.text for article in real_articles()]
machine = [article.text for article in machine_articles()]
json.dump([real, machine], open("texts.json", "w"))
rows = []
for text in real + machine:
    words = text.split()[:8]
    good = " ".join(words)
    rows.append((good[0].upper() + good[1:], " ".join(reversed(words))))
with open("pairs.csv", "w", newline="") as file:
    csv.writer(file).writerows([("good", "bad"), *rows])
"""
READ = "real, machine = json.load(open('texts.json'))\n"


@dataclass(frozen=True)
class Program:
    """One way of doing a job.

    Attributes:
        job: the job in words.
        tool: name of the distribution that does it.
        code: the program; ``MODEL`` and ``TASKS`` stand for folders.
        gives: its output in words.
        extra: extra of the distribution that the job needs.
        also: distributions that it imports for the job and does not name as required.
        runs: whether it runs without a download.
    """

    job: str
    tool: str
    code: str
    gives: str
    extra: str = ""
    also: tuple[str, ...] = ()
    runs: bool = True


SYSTEMS = "compare two sets of texts"
PAIRS = "judge a model by minimal pairs"
COHERENCE = "coherence of each text, as a table"
PROGRAMS = (
    Program(
        SYSTEMS,
        "longform",
        "import json\nfrom longform.critics import EntityGrid\n"
        f"{READ}critic = EntityGrid().fit(real[:10])\nprint(critic.compare(machine, real[10:]))\n",
        "difference, interval, p-value, signature",
    ),
    Program(
        SYSTEMS,
        "sacrebleu",
        f"import json\nimport sacrebleu\n{READ}bleu = sacrebleu.BLEU()\n"
        "print(bleu.corpus_score(machine, [real], n_bootstrap=1000), bleu.get_signature())\n",
        "n-gram overlap with one reference each, interval, signature",
    ),
    Program(
        SYSTEMS,
        "mauve-text",
        f"import json\nimport mauve\n{READ}"
        "print(mauve.compute_mauve(p_text=real, q_text=machine, featurize_model_name='MODEL',"
        " max_text_length=256,\n"
        "                          device_id=-1, verbose=False).mauve)\n",
        "one number",
        also=("torch", "transformers"),
    ),
    Program(
        PAIRS,
        "longform",
        "from longform import judge_suites\nprint(judge_suites('MODEL', 'pairs.csv').markdown())\n",
        "accuracy, interval, three floors",
        "models",
    ),
    Program(
        PAIRS,
        "minicons",
        "import csv\nfrom minicons import scorer\nrows = list(csv.DictReader(open('pairs.csv')))\n"
        "model = scorer.IncrementalLMScorer('MODEL', 'cpu')\n"
        "total = lambda x: x.sum().item()\n"
        "good, bad = (model.sequence_score([r[k] for r in rows], reduction=total, bos_token=True)\n"
        "             for k in ('good', 'bad'))\n"
        "print(sum(a > b for a, b in zip(good, bad)) / len(rows))\n",
        "accuracy",
    ),
    Program(
        PAIRS,
        "lm-eval",
        "from lm_eval import simple_evaluate\nfrom lm_eval.tasks import TaskManager\n"
        "tasks = TaskManager(include_path='TASKS', include_defaults=False)\n"
        "found = simple_evaluate(model='hf',"
        " model_args='pretrained=MODEL,add_bos_token=True,device=cpu',\n"
        "                        tasks=['coherencegym'], task_manager=tasks)\n"
        "print(found['results'])\n",
        "accuracy, standard error; needs a task folder first (`longform export harness`)",
        "hf",
    ),
    Program(
        COHERENCE,
        "longform",
        "import json\nfrom longform.critics import SharedNouns\n"
        f"{READ}critic = SharedNouns()\nprint([critic.score([text]).value for text in machine])\n",
        "a number each",
    ),
    Program(
        COHERENCE,
        "textdescriptives",
        f"import json\nimport textdescriptives\n{READ}"
        "print(textdescriptives.extract_metrics(machine, spacy_model='en_core_web_md',"
        " metrics=['coherence']))\n",
        "a data frame; not run: it needs a spaCy model with word vectors, which is downloaded"
        " apart",
        runs=False,
    ),
)


def seconds(python: str, code: str, folder: Path) -> tuple[float, str]:
    """Processor seconds of a Python that runs ``code``, and the last line of its output."""
    environment = {
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "hub"),
        "PATH": "/usr/bin:/bin",
    }
    command = [python, "-W", "ignore", "-c", code]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{code}\nfailed:\n{process.stderr[-2000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = process.stdout.strip().splitlines() or [""]
    return spent, lines[-1]


# A program for a tool's own Python, which prints what :func:`installed` returns there.
INSTALLED = """import json, sys
from benchmarks.peers import installed
print(json.dumps(installed(*sys.argv[1:])))
"""


def installed(name: str, extra: str, *also: str) -> tuple[str, float]:
    """Version of a distribution, and megabytes of it and of all that it requires.

    The requirements of its ``extra`` count too, unless that is empty, and so do those in ``also``.
    """
    from packaging.requirements import Requirement

    waiting = [(name, extra), *((other, "") for other in also)]
    sizes: dict[str, int] = {}
    while waiting:
        spelling, extras = waiting.pop()
        normalised = spelling.lower().replace("_", "-")
        if normalised in sizes:
            continue
        sizes[normalised] = 0
        try:
            distribution = metadata.distribution(normalised)
        except metadata.PackageNotFoundError:  # of another platform
            continue
        # Its files, and what it requires.
        sizes[normalised] = sum(path.stat().st_size for path in files_of(distribution))
        for line in distribution.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extras}):
                waiting.append((requirement.name, ",".join(requirement.extras)))
    return metadata.version(name), round(sum(sizes.values()) / 1e6)


def files_of(distribution: metadata.Distribution) -> list[Path]:
    """The installed files of a distribution; in a clone ours lie in ``src/``."""
    if distribution.metadata["Name"] == "longform":
        paths = [path for path in (ROOT / "src").rglob("*") if path.suffix != ".pyc"]
    else:
        paths = [Path(str(file.locate())) for file in distribution.files or ()]
    return [path for path in paths if path.is_file()]


def measure(pythons: dict[str, str]) -> list[dict[str, Any]]:
    """A row for each program; ``pythons`` run the tools that are not beside this package."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for program in PROGRAMS:
            python = pythons.get(program.tool, sys.executable)
            rows.append(row_of(program, python, folder))
            print(rows[-1], file=sys.stderr, flush=True)
    for program, row in zip(PROGRAMS, rows, strict=True):
        python = pythons.get(program.tool, sys.executable)
        command = [python, "-c", INSTALLED, program.tool, program.extra, *program.also]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        row["version"], row["megabytes"] = json.loads(process.stdout)
    return rows


def prepare(folder: Path) -> None:
    """Write what the programs read: a network with its tokenizer, texts, pairs and tasks."""
    # 1. The network.
    bases = ROOT / "data" / "bases"
    network = folder / NETWORK
    network.mkdir()
    for source in (bases / "gpt2", bases / "tokenizer"):
        for file in source.iterdir():
            (network / file.name).write_bytes(file.read_bytes())
    # 2. The texts and pairs, and the pairs as a task, by programs whose seconds are not used.
    seconds(sys.executable, TEXTS, folder)
    export = "from longform.tools.exporting import export_harness\n"
    seconds(sys.executable, f"{export}export_harness('tasks', ['pairs.csv'])", folder)


def row_of(program: Program, python: str, folder: Path) -> dict[str, Any]:
    """The row of a program: its lines, seconds and the first 200 characters of its output."""
    code = program.code.replace("MODEL", str(folder / NETWORK)).replace("TASKS", "tasks")
    row = {
        "job": program.job,
        "tool": program.tool,
        "gives": program.gives,
        "lines": len(program.code.splitlines()),
        "seconds": None,
        "output": None,
    }
    if program.runs:
        times, outputs = zip(*(seconds(python, code, folder) for _ in range(RUNS)), strict=True)
        row |= {"seconds": round(min(times), 1), "output": outputs[0][:200]}
    return row


def markdown(rows: list[dict[str, Any]]) -> str:
    """The rows as a table: lines of program, processor seconds and installed megabytes."""
    names = ("job", "tool", "version", "lines", "seconds", "megabytes", "gives")
    lines = [f"| {' | '.join(names)} |", "|---|---|---|--:|--:|--:|---|"]
    for row in rows:
        cells = ["" if row[name] is None else str(row[name]) for name in names]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PYTHON")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = measure(dict(entry.split("=", 1) for entry in options.python))
    print(markdown(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Files of the original program of the correlated topic model (Blei's ctm-c, plain text), read and written.

Corpus: one document a line, ``distinct id:count id:count ...``. Settings: eight lines ``name value``. Model: seven
files ``<prefix>-param.txt``, ``-mu.dat``, ``-cov.dat``, ``-inv-cov.dat``, ``-log-det-inv-cov.dat``, ``-log-beta.dat``,
one number a line with six decimals, matrices by rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from longform.critics.topics.model import TermCounts, TopicModel, TopicSettings, from_rows, inverse
from longform.critics.topics.train import Expectation
from longform.errors import BadInput

LOG_ZERO = -1000.0  # log of probability zero in model files; authors' program, safe_log
_SETTING = {"em max iter": "em_iterations", "var max iter": "rounds", "lag": "lag"}
_TOLERANCE = {"em convergence": "em_tolerance", "var convergence": "tolerance"}
_INNER = (
    "cg max iter",
    "cg convergence",
)  # of the program's own inner solver; ours solves exactly enough by itself


def read_corpus(path: Path | str, *, size: int | None = None) -> TermCounts:
    """Read a corpus file; ``size`` is the number of terms, by default the largest id plus one, as the program counts.

    Raises:
        BadInput: a malformed line, a document without terms, an id outside ``size``.
    """
    rows = [
        _corpus_line(line, f"{path}:{n}") for n, line in enumerate(_lines(path), 1) if line.strip()
    ]
    if not rows:
        raise BadInput(f"{path}: no document; a corpus file has one document a line")
    largest = max(int(terms.max()) for terms, _ in rows) + 1
    if size is not None and largest > size:
        raise BadInput(
            f"{path}: term {largest - 1} is outside the model's {size} terms; use the model's own vocabulary"
        )
    return from_rows(rows, size or largest)


def _corpus_line(line: str, where: str) -> tuple[np.ndarray, np.ndarray]:
    length, *pairs = line.split()
    if not all(re.fullmatch(r"\d+:\d+", pair) for pair in pairs) or not length.isdigit():
        raise BadInput(
            f"{where}: got {line.strip()[:40]!r}, a document is its number of terms, then id:count pairs"
        )
    if int(length) != len(pairs):
        raise BadInput(
            f"{where}: the line announces {length} terms and has {len(pairs)}; write the number of pairs first"
        )
    if not pairs:
        raise BadInput(
            f"{where}: a document without terms; leave the line out, as the program cannot fit it"
        )
    numbers = np.array([pair.split(":") for pair in pairs], np.int64)
    return numbers[:, 0], numbers[:, 1].astype(np.float64)


def write_corpus(path: Path | str, counts: TermCounts) -> None:
    """Write a corpus file; documents without terms are left out, so callers keep the numbers of those written."""
    with Path(path).open("w", encoding="ascii") as file:
        for terms, number in counts.rows():
            if len(terms):
                pairs = (
                    f"{t}:{int(n)}" for t, n in zip(terms.tolist(), number.tolist(), strict=True)
                )
                file.write(f"{len(terms)} {' '.join(pairs)}\n")


def read_settings(path: Path | str) -> TopicSettings:
    """Read a settings file.

    Raises:
        BadInput: an unknown line, a missing line, or shrinkage of the covariance, which this program does not do.
    """
    found: dict[str, int | float] = {}
    seen = set()
    for line in filter(str.strip, _lines(path)):
        name, _, value = line.strip().rpartition(" ")
        seen.add(name)
        if name == "covariance estimate" and value != "mle":
            raise BadInput(
                f"{path}: covariance estimate is {value!r}, allowed is 'mle' (the shipped setting)"
            )
        if name in _SETTING:
            found[_SETTING[name]] = int(value)
        elif name in _TOLERANCE:
            found[_TOLERANCE[name]] = float(value)
    expected = {*_SETTING, *_TOLERANCE, *_INNER, "covariance estimate"}
    if seen != expected:
        raise BadInput(
            f"{path}: lines {sorted(seen ^ expected)} are missing or unknown; a settings file has eight lines"
        )
    return TopicSettings(**found)  # type: ignore[arg-type]


def write_settings(path: Path | str, settings: TopicSettings) -> None:
    """Write a settings file; the program's inner solver gets the values that it ships with."""
    lines = [
        f"em max iter {settings.em_iterations}",
        f"var max iter {settings.rounds}",
        "cg max iter -1",
    ]
    lines += [
        f"em convergence {settings.em_tolerance:g}",
        f"var convergence {settings.tolerance:g}",
    ]
    lines += ["cg convergence 1e-06", f"lag {settings.lag}", "covariance estimate mle"]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


def write_model(prefix: Path | str, model: TopicModel) -> None:
    """Write the model files; the vocabulary goes beside them as ``<prefix>-vocabulary.txt``, which the program ignores."""
    Path(prefix).parent.mkdir(parents=True, exist_ok=True)
    text = f"num_topics {model.topics}\nnum_terms {model.beta.shape[1]}\n"
    Path(f"{prefix}-param.txt").write_text(text, encoding="ascii")
    with np.errstate(divide="ignore"):
        log_beta = np.maximum(np.log(model.beta), LOG_ZERO)
    parts = {
        "mu": model.mean,
        "cov": model.covariance,
        "inv-cov": model.precision,
        "log-beta": log_beta,
    }
    for name, values in {**parts, "log-det-inv-cov": np.array([model.log_det_precision])}.items():
        _write_numbers(f"{prefix}-{name}.dat", values)
    if model.vocabulary:
        Path(f"{prefix}-vocabulary.txt").write_text(
            "\n".join(model.vocabulary) + "\n", encoding="utf-8"
        )


def read_model(prefix: Path | str) -> TopicModel:
    """Read model files of either program.

    Six decimals can leave the inverse covariance indefinite; then the covariance is inverted again.

    Raises:
        BadInput: a file is missing or has the wrong number of numbers, or the covariance is singular.
    """
    found = re.match(
        r"num_topics (\d+)\s+num_terms (\d+)", "\n".join(_lines(f"{prefix}-param.txt"))
    )
    if not found:
        raise BadInput(
            f"{prefix}-param.txt: a parameter file says num_topics and num_terms, one a line"
        )
    topics, terms = int(found[1]), int(found[2])
    free = topics - 1
    covariance = _read_numbers(f"{prefix}-cov.dat", (free, free))
    precision = _read_numbers(f"{prefix}-inv-cov.dat", (free, free))
    precision = (precision + precision.T) / 2
    if np.linalg.eigvalsh(precision)[0] <= 0:
        precision = inverse((covariance + covariance.T) / 2)
    beta = np.exp(_read_numbers(f"{prefix}-log-beta.dat", (topics, terms)))
    named = Path(f"{prefix}-vocabulary.txt")
    vocabulary = tuple(_lines(named)) if named.is_file() else ()
    return TopicModel(
        vocabulary, beta, _read_numbers(f"{prefix}-mu.dat", (free,)), covariance, precision
    )


def write_posteriors(prefix: Path | str, found: Expectation) -> None:
    """Write ``<prefix>-lambda.dat``, ``-nu.dat`` and ``-ctm-lhood.dat``; the fixed last topic has mean and variance 0."""
    for name, values in (("lambda", found.logits), ("nu", found.variances)):
        _write_numbers(f"{prefix}-{name}.dat", np.pad(values, ((0, 0), (0, 1))))
    _write_numbers(f"{prefix}-ctm-lhood.dat", found.bounds)


def read_posteriors(prefix: Path | str, *, topics: int) -> tuple[np.ndarray, np.ndarray]:
    """(documents, topics - 1) means and variances that either program wrote."""
    parts = [
        _read_numbers(f"{prefix}-{name}.dat", (-1, topics))[:, :-1] for name in ("lambda", "nu")
    ]
    return parts[0], parts[1]


def _lines(path: Path | str) -> list[str]:
    if not Path(path).is_file():
        raise BadInput(f"{path}: no such file; give the path or prefix that the program wrote")
    return Path(path).read_text(encoding="utf-8").splitlines()


def _write_numbers(path: str, values: Iterable[float] | np.ndarray) -> None:
    np.savetxt(path, np.asarray(values).ravel(), fmt="%f")


def _read_numbers(path: str, shape: tuple[int, ...]) -> np.ndarray:
    values = np.array(" ".join(_lines(path)).split(), np.float64)
    expected = abs(int(np.prod(shape)))
    if len(values) != expected and not (shape[0] == -1 and len(values) % expected == 0):
        raise BadInput(
            f"{path}: {len(values)} numbers, {expected} are expected for shape {shape}; check num_topics"
        )
    return values.reshape(shape)

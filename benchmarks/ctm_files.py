"""Files of the original program of the correlated topic model (Blei's ctm-c, plain text).

Corpus: one document a line, ``pairs id:count id:count ...``. Settings: eight lines
``name value``. Model: files ``<prefix>-param.txt``, ``-mu.dat``, ``-cov.dat``, ``-inv-cov.dat``,
``-log-det-inv-cov.dat``, ``-log-beta.dat``, one number a line with six decimals, matrices by rows.
"The program" below is ctm-c.
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
# Name in the file -> field of TopicSettings: whole numbers, and tolerances.
_SETTING = {"em max iter": "em_iterations", "var max iter": "rounds", "lag": "lag"}
_TOLERANCE = {"em convergence": "em_tolerance", "var convergence": "tolerance"}
# Of the program's own inner solver; ours solves exactly enough by itself.
_INNER = ("cg max iter", "cg convergence")


def read_corpus(path: Path | str, *, size: int | None = None) -> TermCounts:
    """Read a corpus file.

    Args:
        path: of the file.
        size: number of terms, by default the largest id plus one, as the program counts.

    Raises:
        BadInput: no file or no document in it, a malformed line, a document without terms, an id
            outside ``size``.
    """
    rows = []
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            rows.append(_corpus_line(line, f"{path}:{number}"))
    if not rows:
        raise BadInput(f"{path}: no document; a corpus file has one document a line")
    largest = max(int(terms.max()) for terms, _ in rows) + 1
    if size is not None and largest > size:
        raise BadInput(
            f"{path}: term {largest - 1} is outside the model's {size} terms; use the model's own"
            " vocabulary"
        )
    return from_rows(rows, size or largest)


def _corpus_line(line: str, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Term ids and counts of one document."""
    length, *pairs = line.split()
    if not all(re.fullmatch(r"\d+:\d+", pair) for pair in pairs) or not length.isdigit():
        raise BadInput(
            f"{where}: got {line.strip()[:40]!r}, a document is its number of terms, then id:count"
            " pairs"
        )
    if int(length) != len(pairs):
        raise BadInput(
            f"{where}: the line announces {length} terms and has {len(pairs)}; write the number of"
            " pairs first"
        )
    if not pairs:
        raise BadInput(
            f"{where}: a document without terms; leave the line out, as the program cannot fit it"
        )
    numbers = np.array([pair.split(":") for pair in pairs], np.int64)
    return numbers[:, 0], numbers[:, 1].astype(np.float64)


def write_corpus(path: Path | str, counts: TermCounts) -> None:
    """Write a corpus file.

    Documents without terms are left out, as the program cannot fit them.
    """
    with Path(path).open("w", encoding="ascii") as file:
        for terms, numbers in counts.rows():
            words = [str(len(terms))]
            for term, number in zip(terms.tolist(), numbers.tolist(), strict=True):
                words.append(f"{term}:{int(number)}")
            if len(terms):
                file.write(" ".join(words) + "\n")


def read_settings(path: Path | str) -> TopicSettings:
    """Read a settings file.

    Raises:
        BadInput: an unknown line, a missing line, a value that is no number, or shrinkage of the
            covariance, which this package does not do.
    """
    values: dict[str, int | float] = {}
    names = set()
    # Each line is a name of several words and a value.
    for line in filter(str.strip, _lines(path)):
        name, _, value = line.strip().rpartition(" ")
        names.add(name)
        if name == "covariance estimate" and value != "mle":
            raise BadInput(
                f"{path}: covariance estimate is {value!r}, allowed is 'mle' (the shipped setting)"
            )
        try:
            if name in _SETTING:
                values[_SETTING[name]] = int(value)
            elif name in _TOLERANCE:
                values[_TOLERANCE[name]] = float(value)
        except ValueError:
            raise BadInput(f"{path}: {name} is {value!r}, it must be a number") from None
    expected = {*_SETTING, *_TOLERANCE, *_INNER, "covariance estimate"}
    if names != expected:
        raise BadInput(
            f"{path}: lines {sorted(names ^ expected)} are missing or unknown; a settings file has"
            " eight lines"
        )
    return TopicSettings(**values)  # type: ignore[arg-type]


def write_settings(path: Path | str, settings: TopicSettings) -> None:
    """Write a settings file; the program's inner solver gets the values that it ships with."""
    lines = [
        f"em max iter {settings.em_iterations}",
        f"var max iter {settings.rounds}",
        "cg max iter -1",
        f"em convergence {settings.em_tolerance:g}",
        f"var convergence {settings.tolerance:g}",
        "cg convergence 1e-06",
        f"lag {settings.lag}",
        "covariance estimate mle",
    ]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


def write_model(prefix: Path | str, model: TopicModel) -> None:
    """Write the model files.

    The vocabulary goes beside them as ``<prefix>-vocabulary.txt``, which the program ignores.
    """
    Path(prefix).parent.mkdir(parents=True, exist_ok=True)
    text = f"num_topics {model.topics}\nnum_terms {model.beta.shape[1]}\n"
    Path(f"{prefix}-param.txt").write_text(text, encoding="ascii")
    with np.errstate(divide="ignore"):
        log_beta = np.maximum(np.log(model.beta), LOG_ZERO)
    _write_numbers(f"{prefix}-mu.dat", model.mean)
    _write_numbers(f"{prefix}-cov.dat", model.covariance)
    _write_numbers(f"{prefix}-inv-cov.dat", model.precision)
    _write_numbers(f"{prefix}-log-det-inv-cov.dat", [model.log_det_precision])
    _write_numbers(f"{prefix}-log-beta.dat", log_beta)
    if model.vocabulary:
        lines = "\n".join(model.vocabulary) + "\n"
        Path(f"{prefix}-vocabulary.txt").write_text(lines, encoding="utf-8")


def read_model(prefix: Path | str) -> TopicModel:
    """Read model files of ctm-c or of :func:`write_model`.

    Six decimals can leave the inverse covariance indefinite; then the covariance is inverted again.

    Raises:
        BadInput: a file is missing or has the wrong number of numbers or other words, there are
            fewer than two topics, or the covariance is singular.
    """
    # The sizes.
    text = "\n".join(_lines(f"{prefix}-param.txt"))
    match = re.match(r"num_topics (\d+)\s+num_terms (\d+)", text)
    if not match or int(match[1]) < 2:
        raise BadInput(f"{prefix}-param.txt: needs num_topics (from 2) and num_terms, one a line")
    topics, terms = int(match[1]), int(match[2])
    free = topics - 1
    # The topics' covariance and its inverse.
    mean = _read_numbers(f"{prefix}-mu.dat", (free,))
    covariance = _read_numbers(f"{prefix}-cov.dat", (free, free))
    precision = _read_numbers(f"{prefix}-inv-cov.dat", (free, free))
    precision = (precision + precision.T) / 2
    if np.linalg.eigvalsh(precision)[0] <= 0:
        precision = inverse((covariance + covariance.T) / 2)
    # The topics' words.
    beta = np.exp(_read_numbers(f"{prefix}-log-beta.dat", (topics, terms)))
    path = Path(f"{prefix}-vocabulary.txt")
    vocabulary = tuple(_lines(path)) if path.is_file() else ()
    return TopicModel(vocabulary, beta, mean, covariance, precision)


def write_posteriors(prefix: Path | str, posterior: Expectation) -> None:
    """Write ``<prefix>-lambda.dat``, ``-nu.dat`` and ``-ctm-lhood.dat``.

    The fixed last topic has mean and variance 0.
    """
    for name, values in (("lambda", posterior.logits), ("nu", posterior.variances)):
        _write_numbers(f"{prefix}-{name}.dat", np.pad(values, ((0, 0), (0, 1))))
    _write_numbers(f"{prefix}-ctm-lhood.dat", posterior.bounds)


def read_posteriors(prefix: Path | str, *, topics: int) -> tuple[np.ndarray, np.ndarray]:
    """(documents, topics - 1) means and variances that ctm-c or we wrote."""
    means = _read_numbers(f"{prefix}-lambda.dat", (-1, topics))
    variances = _read_numbers(f"{prefix}-nu.dat", (-1, topics))
    return means[:, :-1], variances[:, :-1]


def _lines(path: Path | str) -> list[str]:
    """The lines of a file. Raises BadInput: it is not there."""
    if not Path(path).is_file():
        raise BadInput(f"{path}: no such file; give the path or prefix that the program wrote")
    return Path(path).read_text(encoding="utf-8").splitlines()


def _write_numbers(path: str, values: Iterable[float] | np.ndarray) -> None:
    """Write numbers one a line with six decimals, matrices by rows."""
    np.savetxt(path, np.asarray(values).ravel(), fmt="%f")


def _read_numbers(path: str, shape: tuple[int, ...]) -> np.ndarray:
    """The numbers of a file as an array; -1 as the first size stands for any number of rows."""
    try:
        values = np.array(" ".join(_lines(path)).split(), np.float64)
    except ValueError:
        raise BadInput(f"{path}: not every word is a number; write the file again") from None
    expected = abs(int(np.prod(shape)))  # of a row, if the first size is -1
    if len(values) != expected and not (shape[0] == -1 and len(values) % expected == 0):
        raise BadInput(
            f"{path}: {len(values)} numbers, {expected} are expected for shape {shape}; check"
            " num_topics"
        )
    return values.reshape(shape)

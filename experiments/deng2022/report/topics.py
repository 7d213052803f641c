"""Topics and synthetic languages of deng2022.

Topics (section 6): Tables 9 and 14, Figures 6, 8 and 9. Languages: Table 1 (the synthetic language
with known states), Table 10 and Figure 7 (mixed languages, appendix C).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.results import Record
from longform.tables import COLOURS, Cell, Figure, Listing, Table, exact, interval, short
from longform_lab.reporting.estimates import folder_of, select
from longform_lab.reporting.pivot import REAL_TEXT, SYSTEM, ReportInputs, errors
from longform_lab.reporting.pivot import panels as panel_grid
from longform_lab.reporting.printed import INCOMPARABLE

NLL = {"critic": "topics", "metric": "nll"}
COLUMNS = {
    "Latent NLL (nats), at the posterior's mean": NLL,
    "Latent NLL (nats), expectation": {**NLL, "variant": "full_expectation"},
}
EXACT = (
    "the exact value is that of the synthetic logits themselves; ours are posterior means under "
    "fitted topics"
)
OFF_DOMAIN = "off_domain"  # variant: a model trained on another corpus, read with this one's topics
WORDS = 60  # of an outlier's text that its row shows (ours)
LISTED = 20  # topics up to which the CSV and the cells have every covariance
CELL = 0.2  # inches, the side of a cell with a number of three letters
TITLE = 1.8  # inches, the width of a matrix' title
ROOM = 5.6  # inches for matrices side by side; beside them stand names and the scale of colours
NAMED = 2  # words in a topic's name
NAMED_ROWS = 16  # topics that have room for a name where they are too many for numbers


def table_9(inputs: ReportInputs) -> Table:
    """A table of the Latent NLL of topic logits, in nats per document.

    Printed numbers stand beside ours at the posterior's mean, which the released code scores.
    """
    records = inputs.select(NLL)
    cells = inputs.exact_rows(records.values("corpus"), "topic_latent_nll", next(iter(COLUMNS)))
    notes = [*inputs.notes, *inputs.comparisons(records)]
    if cells:
        notes.append(EXACT)
    num_without = max([record.excluded or 0 for record in records], default=0)
    notes.append(f"documents without a known word, at most in one row: {num_without}")
    cells += inputs.pivot(COLUMNS, "table_09")
    caption = "Table 9. Latent NLL of topic logits, nats per document, with 95 % intervals"
    return Table(caption, cells, notes)


def table_14(inputs: ReportInputs) -> Listing:
    """A listing of the documents with the largest T(x), worst first, each with its beginning.

    Of the paper's table no number survives.
    """
    rows, notes = [], []
    for record in inputs.select(NLL):
        system = inputs.labels(record, *SYSTEM)
        outliers = record.details["outliers"]
        texts = record.details.get("outlier_texts") or [""] * len(outliers)
        for (unit, nats), text in zip(outliers, texts, strict=True):
            beginning = " ".join(text.split()[:WORDS])
            rows.append([system, unit, nats, beginning])
        if outliers and record.value is not None:
            worst, mean = short(outliers[0][1]), short(record.value)
            notes.append(f"{system}: worst {worst} nats, mean of all {mean}")
    notes.append(
        "the paper's own rows are missing from its text, so nothing printed stands beside these"
    )
    header = ["text", "document", "T(x), nats", "its beginning"]
    return Listing("Table 14. Documents whose mix of topics is least probable", header, rows, notes)


@dataclass(frozen=True)
class Covariance:
    """The covariance of topics over the documents of a system.

    Attributes:
        row: the system's label.
        record: the record of its Latent NLL.
        matrix: covariance of the posterior means of topic logits, float64 (topics, topics).
    """

    row: str
    record: Record
    matrix: np.ndarray


def covariances(inputs: ReportInputs, title: str) -> Figure:
    """Covariance matrices of topic logits (Figures 6, 8 and 9).

    There is one for the data, each model of it, and a model of another corpus.

    Args:
        inputs: the records, of one corpus, one of real text among them.
        title: begins the caption.
    """
    # 1. A panel for each system, and one for a model that another corpus trained, whose record is
    # of no system of the figure.
    off_domain: dict[str, Any] = {"variant": OFF_DOMAIN}
    if "corpus" in inputs.where:
        off_domain["corpus"] = inputs.where["corpus"]
    records = {}
    for record in inputs.select(NLL):
        records[inputs.labels(record, "system", "titles")] = record
    for record in select(inputs.results, {**NLL, **off_domain}):
        records[inputs.labels(record, "variant")] = record
    panels = []
    for row, record in records.items():
        matrix = np.array(record.details["covariance_of_means"])
        panels.append(Covariance(row, record, matrix))
    # Real text has no setting of titles.
    real = inputs.select(NLL, system="data", titles=None).one()
    reference = np.array(real.details["covariance_of_means"])
    # 2. The numbers.
    columns = {"Latent NLL (nats)": NLL}
    cells = inputs.pivot(columns, "figures", ("system", "titles"))
    cells += inputs.pivot(columns, "figures", ("variant",), off_domain)
    for panel in panels:
        if panel.record is not real:
            distance = float(np.linalg.norm(panel.matrix - reference))
            cells.append(exact(panel.row, "Frobenius distance to data", distance, ""))
    names = topic_names(inputs.data, real.corpus)
    if len(reference) <= LISTED:
        for panel in panels:
            cells += _entries(panel, names)
    # 3. Topics in the order of the leaves of a clustering of real text's rows, so that those that
    # vary together stand side by side.
    order = leaves_list(linkage(reference, method="average", metric="euclidean"))
    limit = max([float(np.abs(panel.matrix).max()) for panel in panels])
    caption = (
        f"{title}. Covariances of the posterior means of topic logits, rounded; a topic bears the "
        f"{NAMED} words that are most its own, in the order of clusters of data's, and columns its "
        "number alone. Numbers stand in one half, since the other is the same. Colours reach the "
        f"largest entry, {short(limit)} (the paper's are cut off at 5)."
    )
    # 4. As many matrices side by side as have room, two at most.
    side = max(CELL * min(len(order), LISTED), TITLE)  # inches
    across = max(1, min(int(ROOM / side), 2, len(panels)))
    down = math.ceil(len(panels) / across)
    draw = partial(
        _draw_covariances, panels=panels, names=names, order=order, limit=limit, across=across
    )
    size = (2.0 + side * across, 0.1 + (side + 0.5) * down)
    return Figure(caption, cells, draw, size, inputs.notes)


def _entries(panel: Covariance, names: Sequence[str]) -> list[Cell]:
    """Cells of a matrix' entries on and above the diagonal, for the CSV alone."""
    cells = []
    for i, entries in enumerate(panel.matrix):
        row = f"{panel.row}, {names[i]}"
        for j in range(i, len(entries)):
            cells.append(Cell(row, names[j], float(entries[j]), detail=True))
    return cells


def _draw_covariances(
    canvas: Any,
    panels: Sequence[Covariance],
    names: Sequence[str],
    order: np.ndarray,
    limit: float,
    across: int,
) -> None:
    """Draw a matrix for each system on one scale of colours, matrices of few topics with numbers.

    Args:
        canvas: of the figure.
        panels: the covariances of each text.
        names: of the topics.
        order: in which topics are drawn.
        limit: the largest entry, at which colours end.
        across: panels in a row.
    """
    # Of many topics every few are named.
    step = 1 if len(order) <= LISTED else math.ceil(len(order) / NAMED_ROWS)
    positions = range(0, len(order), step)
    row_names = [names[topic] for topic in order[::step]]
    grid = panel_grid(canvas, len(panels), across, sharex=True, sharey=True)
    for axes, covariance in zip(grid, panels, strict=True):
        # 1. The matrix.
        matrix = covariance.matrix[np.ix_(order, order)]
        colours = {"cmap": "PuOr_r", "vmin": -limit, "vmax": limit}
        image = axes.imshow(matrix, interpolation="nearest", **colours)
        nll = covariance.record.value
        number = "–" if nll is None else short(nll)
        axes.set_title(f"{covariance.row}\nLatent NLL {number} nats")
        axes.set_xticks(positions, [str(topic) for topic in order[::step]])
        axes.set_yticks(positions, row_names)
        axes.tick_params(length=0)
        # 2. Its entries on and below the diagonal.
        if len(order) <= LISTED:
            for i, j in zip(*np.tril_indices(len(order)), strict=True):
                entry = float(matrix[i, j])
                colour = "white" if abs(entry) > 0.6 * limit else "black"
                look = {"ha": "center", "va": "center", "fontsize": 7, "color": colour}
                axes.text(j, i, str(round(entry)), **look)
    canvas.colorbar(image, ax=grid, shrink=0.5, aspect=25, label="covariance of topic logits")


def topic_names(data: Path, corpus: str) -> list[str]:
    r"""A name for each topic: the words that are frequent in it and rare in others.

    They are those with the largest :math:`\beta_{kw}^2 / \sum_j \beta_{jw}`, where
    :math:`\beta_{kw}` is the probability of word w in topic k.

    Raises:
        BadInput: there is no topic model of the corpus.
    """
    folder = folder_of(data / "critics", f"topics/{corpus}")
    if folder is None:
        raise BadInput(
            f"{data / 'critics'} has no topic model of {corpus!r}; `dvc repro` trains it; "
            "docs/share_results.md says how to get a finished run"
        )
    words = [word.strip(".,") for word in read_json(folder / "topics.json")["vocabulary"]]
    with np.load(folder / "topics.npz", allow_pickle=False) as arrays:
        beta = arrays["beta"]
    best = (-(beta**2) / beta.sum(axis=0)).argsort(axis=1)
    names = []
    for topic, row in enumerate(best):
        # Twice as many as needed, since a word may be there both with and without a full stop.
        candidates = [words[i] for i in row[: 2 * NAMED]]
        different = list(dict.fromkeys(candidates))
        names.append(f"{', '.join(different[:NAMED])} ({topic})")
    return names


LATENT = {"critic": "synthetic_states", "metric": "latent_ppl"}
TABLE_1 = {
    "word PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "Latent PPL": LATENT,
    "Latent PPL, strict rule": {**LATENT, "variant": "strict"},
    "parse rate": {**LATENT, "metric": "parse_rate"},
}
MIX = {"critic": "code_mixing", "metric": "dispersion"}
MIX_NLL = {**MIX, "metric": "languages"}
MIXTURES = {
    "dispersion, 1 - Σ z²": MIX,
    "share with 90 % of one language": {**MIX, "variant": "corners"},
    "Latent NLL (nats per sentence)": MIX_NLL,
}
FACTS = {"word PPL": "word_ppl", "Latent PPL": "latent_ppl"}  # facts of the corpus
# Where a name may stand around its point: distances in typographic points, and directions to the
# right (1), the middle (0) or the left (-1), and above (1), beside (0) or below (-1) it.
DISTANCES = (5.0, 10.0, 16.0, 24.0, 34.0, 46.0)
DIRECTIONS = ((1, 1), (1, 0), (0, 1), (-1, 1), (1, -1), (0, -1), (-1, 0), (-1, -1))
MARK, CAP = 4.0, 2.5  # half of a mark and of a bar's end, typographic points
FAMILIES = ("hsmm", "transformer")  # what systems' names begin with
# Corners of the simplex of three languages, float64 (corners, 2).
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])


def table_1(inputs: ReportInputs) -> Table:
    """A table of word PPL and Latent PPL of data, transformer and HSMMs, and the exact values.

    The parse rate is the share of texts that the oracle can read.
    """
    cells = []
    for corpus in inputs.select(LATENT).values("corpus"):
        for column, fact in FACTS.items():
            value = inputs.facts.number(corpus, fact)
            if value is not None:
                cells.append(exact("exact", column, value))
    cells += inputs.pivot(TABLE_1, "table_01", SYSTEM[1:])
    caption = "Table 1. Synthetic language: word PPL and Latent PPL with 95 % intervals"
    return Table(caption, cells, inputs.notes, list(TABLE_1))


@dataclass(frozen=True)
class Point:
    """A model in the figure ``latent_over_word``.

    Attributes:
        name: its label.
        family: the index in ``FAMILIES``; their number for real text.
        word: its word PPL.
        latent: its Latent PPL.
    """

    name: str
    family: int
    word: Cell
    latent: Cell

    @property
    def has_family(self) -> bool:
        """Whether it belongs to one of ``FAMILIES``; real text does not."""
        return self.family < len(FAMILIES)

    @property
    def printed(self) -> tuple[float, float] | None:
        """The paper's two numbers, where ours can be compared with them."""
        if INCOMPARABLE in (self.word.verdict, self.latent.verdict):
            return None
        if not self.word.printed or not self.latent.printed:
            return None
        return self.word.printed, self.latent.printed


def figure_latent_over_word(inputs: ReportInputs) -> Figure:
    """A figure of Latent PPL over word PPL, a point for each model (ours, after section 3).

    Hollow points are the paper's, shown where our language has its size.
    """
    cells = inputs.pivot({column: TABLE_1[column] for column in FACTS}, "table_01", SYSTEM[1:])
    # 1. The two numbers of each model.
    numbers: dict[str, dict[str, Cell]] = {}
    for one in cells:
        if not one.detail and one.value is not None:
            numbers.setdefault(one.row, {})[one.column] = one
    families = {}
    for record in inputs.select(LATENT):
        families[inputs.labels(record, *SYSTEM[1:])] = _family(record.system)
    points = []
    for row, by_column in numbers.items():
        if len(by_column) == len(FACTS):
            word, latent = (by_column[column] for column in FACTS)
            points.append(Point(row, families[row], word, latent))
    # 2. What the caption says of the paper's.
    caption = (
        "Latent PPL over word PPL of models of the synthetic language, with 95 % intervals; good "
        "is near the data in both"
    )
    if any(one.printed and one.verdict != INCOMPARABLE for one in cells):
        caption += "; hollow: as printed"
    draw = partial(_draw_points, points=points)
    return Figure(caption, cells, draw, (5.4, 3.8), inputs.notes)


def _family(system: str) -> int:
    """The index of a system's family in ``FAMILIES``; their number for real text."""
    for number, prefix in enumerate(FAMILIES):
        if system.startswith(prefix):
            return number
    return len(FAMILIES)


def _draw_points(canvas: Any, points: Sequence[Point]) -> None:
    """Draw models as points with their names, with a logarithmic scale of Latent PPL."""
    # 1. The points.
    axes = canvas.add_subplot()
    for point in points:
        _draw_point(axes, point)
    axes.set(xlabel="word PPL", ylabel="Latent PPL (log scale)", yscale="log")
    # 2. Ticks at 1, 2 and 5 of each decade.
    low, high = axes.get_ylim()
    ticks = []
    for decade in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        ticks += [step * 10.0**decade for step in (1, 2, 5)]
    axes.set_yticks(ticks, minor=False)
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(low / 2, high * 2)
    axes.margins(x=0.3)
    # 3. The names, where nothing else stands.
    _name_points(canvas, axes, points)


def _draw_point(axes: Any, point: Point) -> None:
    """Draw a model's point with intervals, and the paper's as a hollow point."""
    colour = COLOURS[point.family] if point.has_family else REAL_TEXT
    style: dict[str, Any] = {"fmt": "os^"[point.family], "color": colour}
    x, y = point.word.value, point.latent.value
    bars = {"xerr": errors([point.word]), "yerr": errors([point.latent])}
    axes.errorbar(x, y, capsize=2, **bars, **style)
    if point.printed is not None:
        axes.errorbar(*point.printed, mfc="none", **style)


def _name_points(canvas: Any, axes: Any, points: Sequence[Point]) -> None:
    """Write each point's name at the nearest place where it covers no point, bar or other name.

    A thin line joins a name to its point where the name does not stand beside it.
    """
    # 1. What stands in the axes, as boxes in pixels, and the names.
    canvas.draw_without_rendering()  # lays the axes out
    pixels = canvas.dpi / 72  # in a typographic point
    boxes = []
    names: list[tuple[str, tuple[float, float]]] = []
    for point in points:
        boxes += _boxes(axes, point, pixels)
        names.append((point.name, (point.word.value or 0.0, point.latent.value or 0.0)))
        if point.printed is not None and point.has_family:
            names.append(("printed", point.printed))
    # 2. Each name at its place.
    letters: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7}
    line = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.5, "shrinkA": 0}
    for name, position in names:
        text = axes.annotate(name, position, (0, 0), **letters)
        extent = text.get_window_extent()
        anchor = axes.transData.transform(position)
        distance, corner = _free_place(extent, anchor, pixels, boxes, axes.bbox)
        text.xyann = tuple((corner - anchor) / pixels)
        boxes.append(text.get_window_extent())
        if distance > DISTANCES[0]:
            nearest = np.clip(anchor, boxes[-1].min, boxes[-1].max)
            end = tuple((nearest - anchor) / pixels)
            axes.annotate("", position, end, arrowprops=line, **letters)


def _boxes(axes: Any, point: Point, pixels: float) -> list[Any]:
    """What a point covers, as boxes in pixels: its marks and the bars of its intervals.

    Args:
        axes: of the figure, laid out.
        point: a model.
        pixels: in a typographic point.
    """
    from matplotlib.transforms import Bbox

    x, y = point.word.value or 0.0, point.latent.value or 0.0
    ends: list[tuple[Any, Any, float]] = [((x, y), (x, y), MARK)]
    for one, low, high in (
        (point.word, (point.word.low, y), (point.word.high, y)),
        (point.latent, (x, point.latent.low), (x, point.latent.high)),
    ):
        if one.low is not None:
            ends.append((low, high, CAP))
    if point.printed is not None:
        ends.append((point.printed, point.printed, MARK))
    boxes = []
    for low, high, room in ends:
        corners = axes.transData.transform([low, high])
        boxes.append(Bbox(corners).padded(room * pixels))
    return boxes


def _free_place(
    extent: Any, anchor: np.ndarray, pixels: float, boxes: Sequence[Any], inside: Any
) -> tuple[float, np.ndarray]:
    """The nearest place around a point where a text covers nothing.

    Where there is none, it is the one that covers the fewest boxes.

    Args:
        extent: the text's box, of which width and height count.
        anchor: the point, (2,) pixels.
        pixels: in a typographic point.
        boxes: what should not be covered.
        inside: the box in which the text should stand.

    Returns:
        The distance from the point in typographic points, and the text's lower left corner, (2,)
        pixels.
    """
    from matplotlib.transforms import Bbox

    best, fewest = (0.0, anchor), math.inf
    for distance, (right, up) in product(DISTANCES, DIRECTIONS):
        # To the left of the point the text ends, above and below its middle stands over the point.
        corner = anchor + np.array(
            [
                right * distance * pixels - (1 - right) / 2 * extent.width,
                up * distance * pixels - (1 - up) / 2 * extent.height,
            ]
        )
        box = Bbox.from_bounds(corner[0], corner[1], extent.width, extent.height).padded(pixels)
        num_covered = box.count_overlaps(boxes)
        if not (inside.contains(*box.min) and inside.contains(*box.max)):
            num_covered += len(boxes)
        if num_covered < fewest:
            best, fewest = (distance, corner), num_covered
    return best


def _most_common_language(words: Sequence[str]) -> tuple[str, int]:
    """The language that most words belong to, and their number; "" and 0 if no word has one."""
    # Here, so that no other table of the paper depends on the synthetic languages.
    from synthetic_world.languages import language_of

    counts = Counter(filter(None, map(language_of, words)))
    return counts.most_common(1)[0] if counts else ("", 0)


def table_10(inputs: ReportInputs) -> Listing:
    """A listing of the most probable words of each component of the mixture of languages.

    Each row names the synthetic language that most of the words belong to.
    """
    record = inputs.select(MIX_NLL, system="data").one()
    top_words = record.details["top_words"]
    rows = []
    languages = set()
    for words in top_words:
        language, number = _most_common_language(words)
        rows.append([language, f"{number} of {len(words)}", " ".join(words)])
        languages.add(language)
    num_languages = len(languages - {""})
    notes = [
        f"{num_languages} of {len(rows)} components are a language of their own",
        "the paper's languages are others",
    ]
    words_column = f"{len(top_words[0])} most probable words"
    header = ["language of most words", "words of it", words_column]
    caption = "Table 10. The most probable words of each language of the mixture"
    return Listing(caption, header, rows, notes)


def _corner_names(inputs: ReportInputs) -> list[str]:
    """The names of the simplex' corners, which are the components of the mixture.

    A component is named after the language of most of its words, or else by its number.
    """
    names = [f"component {number}" for number in range(1, len(CORNERS) + 1)]
    record = inputs.select(MIX_NLL, system="data").find()
    if record is None:
        return names
    top_words = record.details.get("top_words", ())
    for corner, words in enumerate(top_words[: len(CORNERS)]):
        language, _ = _most_common_language(words)
        names[corner] = language or names[corner]
    return names


def figure_7(inputs: ReportInputs) -> Figure:
    """Sentences as points on the simplex of languages, a panel with its dispersion per system."""
    mixes = inputs.select(MIX)
    corners = _corner_names(inputs)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(mixes), squeeze=False)[0]
        for axes, record in zip(panels, mixes, strict=True):
            _draw_simplex(axes, record, corners)
            dispersion = ""
            if record.value is not None:
                dispersion = interval(record.value, record.low, record.high)
            title = f"{inputs.labels(record, 'system')}\ndispersion {dispersion}"
            axes.set_title(title)

    caption = (
        "Figure 7. Mixes of languages of sentences, a draw of the posterior each, over the simplex "
        "of three."
    )
    cells = inputs.pivot(MIXTURES, rows=("system",))
    notes = [*inputs.notes, *inputs.comparisons(mixes)]
    return Figure(caption, cells, draw, (2.5 * len(mixes), 2.7), notes)


def _draw_simplex(axes: Any, record: Record, names: Sequence[str]) -> None:
    """Draw the sentences of a record as points between the named corners."""
    # Shares of languages, (sentences, corners), to coordinates, (sentences, 2).
    shares = np.array(record.details["points"])[:, : len(CORNERS)]
    points = shares @ CORNERS
    axes.fill(*CORNERS.T, fill=False, edgecolor="#444444", linewidth=0.8)
    axes.scatter(*points.T, s=6, alpha=0.35, linewidths=0, color=COLOURS[0])
    for (x, y), name in zip(CORNERS, names, strict=True):
        look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 7}
        offset = -4  # points, below the corners of the base
        if y > 0:
            look["va"] = "bottom"
            offset = 4
        axes.annotate(name, (x, y), (0, offset), textcoords="offset points", **look)
    axes.margins(0.15)
    axes.set_aspect("equal")
    axes.axis("off")

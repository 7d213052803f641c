"""Arrays of no values have the type and columns of those of some: both are stored and joined."""

from types import SimpleNamespace

import numpy as np
import pytest

from longform import documents
from longform.critics.verifiability import checks
from longform.datasets.test_suites.items import suites_to_corpus
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text import entity_grids, lexicon, permutations, rendering
from synthetic_world import languages, reports, simulated_annotators

ONE = SimpleNamespace(unit_id="u", own_order=1)
TEXT, INDEX = "<U1", "int64"
ARRAYS = {
    "chains": (
        lambda: documents.chains_to_predictions([]).arrays,
        {"chain": "int32", "symbol_names": TEXT, "valid": "bool"},
    ),
    "entity grids": (
        lambda: entity_grids.grids_to_predictions([]).arrays,
        {"cells": "uint8", "entity": "int32", "entity_names": TEXT, "sentences": INDEX},
    ),
    "checks": (
        lambda: checks.checks_to_predictions([]).arrays,
        {"label": "int8", "evidence": TEXT, "label_names": "<U15"},
    ),
    "checked generations": (
        lambda: checks.generations_to_predictions([]).arrays,
        {"token": INDEX, "reference": INDEX, "true_label": "int8", "true_evidence": TEXT,
         "setting": TEXT, "page": TEXT, "claim": TEXT, "line": TEXT},
    ),
    "suites": (lambda: suites_to_corpus([]).truth, {"suite_heads": TEXT}),
    "reports": (
        lambda: reports.report_corpus(1, [], {}).truth,
        {"grid": "int8", "grid_sentences": INDEX, "entity_names": TEXT, "entity_counts": INDEX,
         "role_names": TEXT},
    ),
    "pairs of languages": (
        lambda: languages.parallel_corpus(1, [], {}).truth,
        {"language": INDEX, "language_names": "<U7", "word_language": INDEX},
    ),
    "simulated answers": (
        lambda: simulated_annotators.to_predictions([], {}).arrays,
        {"annotator": TEXT, "answer": TEXT, "gold": TEXT, "source": TEXT},
    ),
    "packed texts": (lambda: rendering.pack([]), {"text": "uint8", "text_lengths": INDEX}),
    "rows": (lambda: documents.ragged("row", [], np.int8), {"row": "int8", "row_lengths": INDEX}),
}  # fmt: skip
SHAPES = {
    "links": (lambda: lexicon.closed_links([]), INDEX, (0, 3)),
    "links of no word net": (lambda: lexicon.NOTHING.links, INDEX, (0, 3)),
    "senses of no word net": (
        lambda: np.stack([lexicon.NOTHING.sense_synsets, lexicon.NOTHING.sense_counts]), INDEX, (2, 0),
    ),
    "numbers of keys": (lambda: permutations.numbered([]), INDEX, (0,)),
    "orders of one sentence": (
        lambda: permutations.local_orders(1, 1, 3, np.random.default_rng(0)), INDEX, (0, 1),
    ),
    "sums of whole numbers": (
        lambda: SufficientStatistics.of([ONE], ("a", "b"), [(1, 2)]).values, "float64", (1, 2),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_no_unit_have_the_type_of_those_of_many(name):
    make, types = ARRAYS[name]
    arrays = make()
    for field, kind in types.items():
        assert (field, arrays[field].dtype) == (field, np.dtype(kind))


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_has_its_type_and_columns_whatever_its_values(name):
    make, kind, shape = SHAPES[name]
    array = make()
    assert (array.dtype, array.shape) == (np.dtype(kind), shape)

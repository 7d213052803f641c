"""Numbers that no paper prints and that results rest on: each was chosen once and is documented so."""

import importlib
import inspect
import operator
from dataclasses import fields

import numpy as np
import pytest

CHOICES = {
    "longform.criticize.copies": {
        "_PRIMES": (11400714819323198485, 13787848793156543929, 9650029242287828579),
        "MOST": 5_000_000, "GRAM": 5, "SHARED": 0.5, "NEIGHBOURS": 3},
    "longform.criticize.judging": {"RESAMPLES": 1000, "PERMUTATIONS": 2000},
    "longform.criticize.lengths": {"SHORT": 0.5},
    "longform.criticize.panels": {
        "SCHEDULE": {"learning_rate": 0.001, "batch": 16, "epochs": 10, "validations": 5,
        "weight_decay": 0.01}, "ENCODER_PACE": 2800, "PACE": 270, "ORDERS_PACE": 40,
        "SENTENCES_KEPT": 2**15, "PEOPLED": 4, "TITLED": 0.9, "SENTENCES": 5, "FEWEST": 10,
        "WINDOW": 1024},
    "longform.criticize.report": {
        "LISTED": 20, "TICKS": 7, "FEW": 20, "SIGNIFICANT": 0.05, "ENGLISH": 0.9},
    "longform.criticize.splits": {"SPLITS": 5},
    "longform.criticize.systems": {
        "ROUNDING": 1e-12, "POWERED": 2.8},
    "longform.critics.base": {"RESAMPLES": 1000, "PERMUTATIONS": 2000},
    "longform.critics.bbscore.own_texts": {
        "SCHEDULE": {"learning_rate": 0.001, "batch": 16, "epochs": 10, "validations": 5,
        "weight_decay": 0.01}, "FEWEST": 10, "VALIDATION_EVERY": 5},
    "longform.critics.bbscore.ranker": {
        "SLOPE": 0.01, "HIDDEN": (64, 32), "RATE": 1e-3, "EPOCHS": 30, "PATIENCE": 5},
    "longform.critics.bbscore.score": {"COMMON_STEPS": 100},
    "longform.critics.code_mixing.score": {"NEWTON_STEPS": 8, "CORNER": 0.9},
    "longform.critics.coreference.attribution": {
        "RARE_LOG_PROBABILITY": -7.0, "MIN_COUNT": 5, "RATIOS": 5, "ARTICLES": 4,
        "MIN_SYMBOLS": 20, "RARE_ROWS": 13, "GAP_ROWS": 10},
    "longform.critics.coreference.person_mentions": {"LONGEST_NAME": 4, "NOUN_REACH": 3},
    "longform.critics.coreference.rules": {"DOUBT": 0.5},
    "longform.critics.coreference.score": {
        "MAX_ORDER": 8, "UNSEEN_PROBABILITY": 1e-20, "ORDER": 5, "FALLBACK": (0.5, 1.0, 1.5),
        "KEY_BITS": 62},
    "longform.critics.entity_grid.blocks": {"BLOCK": 4},
    "longform.critics.entity_grid.score": {"SYMBOLS": 5, "EDGE": 4, "MAX_HISTORY": 6,
        "LONGEST_TRANSITION": 6, "MACHINE_ITERATIONS": 20_000},
    "longform.critics.lexical.score": {"PASSES": 10, "DENSE": 1000},
    "longform.critics.lexical.wordnet": {
        "HSO_LONGEST": 5, "GLOSS_LIMIT": 300, "USED_IN_FIRST": -1, "USED_IN_SECOND": -2,
        "BREAK": -3, "SIGNATURE": 512},
    "longform.critics.mauve.read": {
        "MAX_TOKENS": 1024, "ON_DEVICE": 32, "REPORT_SECONDS": 10},
    "longform.critics.mauve.score": {
        "SCALE": 5.0, "MIXTURES": 25, "EDGE": 1e-06, "KEPT_VARIANCE": 0.9, "SMOOTHING": 0.5,
        "TEXTS_PER_CLUSTER": 10, "AT_ONCE": 256, "GREATEST": 1.0, "NEARLY_ZERO": 1e-300},
    "longform.critics.neural_ranker.score": {
        "SCHEDULE": {"learning_rate": 0.001, "batch": 16, "epochs": 20, "validations": 4},
        "VALIDATION_EVERY": 5},
    "longform.critics.order_and_repetition.read": {"BATCH": 2, "TRIES": 50},
    "longform.critics.order_and_repetition.score": {"N": 4, "FEWEST": 10, "MIDDLE": 0.5},
    "longform.critics.perplexity.read": {"UNLIMITED": 10**9},
    "longform.critics.saving": {"DIGITS": 8},
    "longform.critics.section_order.classifier_errors": {"PSEUDO_SECTIONS": 1.0,
        "RELIABLE": 0.07, "CERTAIN": 0.9},
    "longform.critics.section_order.rare_titles": {"MIN_TEXTS": 4},
    "longform.critics.section_order.score": {
        "NUM_WORST": 3, "FEWEST_TITLES": 3, "MAX_LENGTH": 512, "SHOWN_START": 60, "SHOWN_END": 30},
    "longform.critics.surprisal.read": {"UNCOUNTED": -1},
    "longform.critics.topics.kernels": {
        "LANES": 16,
        "NEWTON_STEPS": 2, "CG_PRODUCTS": 10, "CG_DROP": 1e-4, "SUFFICIENT": 1e-4,
        "VARIANCE_STEPS": 3,
        "HALVINGS": 12, "LONGEST": 3.0, "UNLIMITED": 10_000, "TINY": 1e-35, "ABSENT": -1e4},
    "longform.critics.topics.model": {"COMMON": 3},
    "longform.critics.topics.own_texts": {"TOPICS": 10, "TEXTS_PER_TOPIC": 3, "ITERATIONS": 60},
    "longform.critics.topics.score": {"EXCERPT": 600, "OUTLIERS": 10, "TOPIC_WORDS": 3},
    "longform.critics.topics.train": {
        "SEED_SMOOTHING": 1.0, "RELEASED_SEED": 1_115_574_245, "MORE_ROUNDS": 10, "WIDEST": 10.0,
        "SPAN": 256, "PATIENCE": 10, "WARM_UP": 6},
    "longform.critics.verifiability.checker": {
        "PAGES": 7, "LINES": 5,
        "CACHED_INDICES": 1000,
        "PART": 10_000, "FEW": 10_000, "ROUNDING": 1e-4, "LONGEST_TITLE": 12, "SURE": 0.5},
    "longform.critics.verifiability.checks": {"SENTENCES": 5},
    "longform.critics.verifiability.reliability": {"SUM_WEIGHT": 1e3},
    "longform.critics.verifiability.text_measures": {"SECONDS": 5},
    "longform.critics.verifiability.train": {"BATCH": 256, "BROUGHT_BATCH": 16, "MOST_WORDS": 64,
        "NEGATIVES": 2, "MINICHECK_ANSWERS": (3, 209)},
    "longform.datasets.encyclopedia": {"PAIR_SHARES": {"train": 0.9, "validation": 0.1}},
    "longform.datasets.fever": {
        "MOST_TOKENS": 50, "SHARES": {"train": 0.8, "validation": 0.1, "test": 0.1}},
    "longform.datasets.own_texts": {"LONGEST": 1000},
    "longform.datasets.rated_texts": {"MANY": 100},
    "longform.datasets.shuffled_texts": {"BLOCKS": {1: 1, 2: 5, 3: 0}},
    "longform.datasets.test_suites.named_suites": {"FEWEST_SENTENCES": 3, "SEED": 1234},
    "longform.datasets.test_suites.native": {"SENTENCES": 5},
    "longform.datasets.test_suites.prediction_formulas": {"RELATIVE": 1e-5, "ABSOLUTE": 1e-3},
    "longform.datasets.wikipedia.building": {
        "SHARES": {"train": 0.8, "validation": 0.1, "test": 0.1}, "YEARS": {"test": 2017,
        "validation": 2018}, "LEAST": 1000, "CANDIDATES": 8, "NAMES": 100, "VERSION": 3},
    "longform.decoding.exact_sampling": {"POSITIONS": 64, "ROWS": 8, "DECODED": 8, "SAFETY": 8.0,
        "ARITHMETIC": 2e-5},
    "longform.decoding.completions": {"REPORT_EVERY": 10.0},
    "longform.decoding.continuations": {
        "NEW_TOKENS": 256, "SEEDS": 3, "DIGITS": 6, "REPORT_SECONDS": 10, "ROWS": 8},
    "longform.decoding.decoders": {"LARGEST_BEAM": 10_000, "LARGEST_PENALTY": 1e6},
    "longform.decoding.long_documents": {"REFILL": 8, "REPORT_EVERY": 10.0},
    "longform.decoding.sampling": {"PAD": -1, "ROUNDING": 1e-10, "SPARE_BYTES": 2**26},
    "longform.decoding.timing": {"TRIED_TOKENS": 4},
    "longform.decoding.translations": {"LONGER": 2, "ROOM": 10},
    "longform.evaluation.agreement": {"SAME_ORDER": 1 - 1e-12, "NEARLY_ONE": 1 - 1e-15,
        "LEVEL": 0.95, "FEWEST": 3},
    "longform.evaluation.corruption_response": {"RESAMPLES": 300, "PERMUTATIONS": 999},
    "longform.evaluation.human_ratings": {
        "ENTER": 0.05, "REMOVE": 0.10, "FITTED_SHARE": 2 / 3, "RESAMPLES": 1000, "FEWEST_ITEMS": 4},
    "longform.evaluation.human_study": {
        "VERDICT_NUMBER": 10**6,
        "START": 0.6, "STEPS": 2000,
        "LEAST_CHECKS": 0.75, "PRIOR_SPREAD": 2.0, "VARIANCE_SPREAD": 1.0, "EFFECT_DIGITS": 6},
    "longform.evaluation.human_vs_machine": {
        "TOP": 2, "RESAMPLES": 200},
    "longform.evaluation.measurements": {"PERMUTATIONS": 1000},
    "longform.evaluation.order_discrimination": {
        "BLOCKS": (1, 2, 5, 10), "WINDOWS": ((1, 2, 3), (1,), (2,), (3,)), "TIE": 1e-9,
        "HUGE": 1e300, "POINTS": 101},
    "longform.hsmm.compiled": {
        "AGREEMENT": 1e-3, "MASS_FLOOR": 1e-30, "ROWS_PER_SLICE": 65_536, "ROWS_PER_BLOCK": 24_000,
        "FLOORS": {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290},
        "LIMITS": {np.dtype(np.float32): 85.0, np.dtype(np.float64): 700.0}},
    "longform.hsmm.em": {"SPELLING": 3, "UNEVENNESS": 0.1, "LEAST_SHARE": 1e-4},
    "longform.hsmm.gradient": {
        "WINDOW": 30, "STATES": 6, "TEXTS": 3, "PRODUCTS": 1e7, "TOLERANCE": 1e-6, "NEVER": -1e6},
    "longform.hsmm.kernels": {"DEAD": -1e300, "WEAK": 1e-12, "STEEP": 60.0},
    "longform.hsmm.model": {"RESERVED_ROWS": 2, "WINDOWS_PER_CHUNK": 4_000_000},
    "longform.hsmm.on_device": {"OCCURRENCES_PER_CHUNK": 65_536, "ROWS_PER_BLOCK": 400_000},
    "longform.hsmm.train": {"FLOORS": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), "EVERY": 120.0},
    "longform.language_models.capacity": {"UNLIMITED": 2048},
    "longform.language_models.causal_lm": {"IGNORED": -100},
    "longform.language_models.lightning": {"REPORT_SECONDS": 10},
    "longform.language_models.log_probs": {
        "REPORT_SECONDS": 10,
        "MIN_SHARED": 0.2, "TREE_NODES": 512, "MOST_TOKENS": 16_384, "LOGITS_BYTES": 2**28,
        "POSITIONS": 256,
        "SAME_LOGITS": 1e-6},
    "longform.language_models.ngram": {"DISCOUNT": 0.5},
    "longform.language_models.sentence_features": {"REPORT_SECONDS": 10, "SENTENCE_TOKENS": 256},
    "longform.language_models.translation": {"IGNORED": -100, "LENGTHS": 256, "LENGTH_WEIGHT": 0.1},
    "longform.language_models.trial": {"TRIAL_TOKENS": 12, "MOVED": 1e-5, "ROUNDING": 32,
        "SAME_ALONE": 1e-3},
    "longform.results": {
        "ROUNDING": 1e-09, "WORTH_AN_INDEX": 50, "FEWEST_UNITS": 20, "DIGITS": 12},
    "longform.statistics.arithmetic": {"LARGEST_EXPONENT": 700.0},
    "longform.statistics.comparisons": {"TIE": 1e-12},
    "longform.statistics.intervals": {"SAME_SHARE": 1e-9, "NORMAL_95": 1.959963984540054},
    "longform.statistics.markov_chain": {
        "FAILURE_PROBABILITY": 0.01, "UNKNOWN": -1},
    "longform.statistics.resampling": {"NUMBERS_AT_ONCE": 2**20},
    "longform.statistics.sign_flips": {"SAME_SUM": 1e-9},
    "longform.statistics.trainings": {"BISECTIONS": 60, "LEVEL": 0.95},
    "longform.terminal": {"STOPPED": 130},
    "longform.text.entity_grids": {"SENTENCES": 2**15},
    "longform.text.languages": {"MIN_WORDS": 30, "MIN_ENGLISH": 0.07},
    "longform.text.permutations": {
        "SHUFFLES": 20, "WINDOW": 3, "LONGEST_WITHOUT_LOCAL": 10, "_HASH_SEED": 0, "TRIES": 1000},
    "longform.text.restructured_text": {"_SHORT_LINE": 4},
    "longform.text.sentences": {"REMEMBERED": 2**16, "_MOST_ASIDE": 400, "_MOST_TITLE": 80,
        "_MOST_ITEM": 1000},
    "longform.tools.suites": {
        "TIE": 1e-09, "TRIED_TOKENS": 512, "DRAWS": 100},
    "longform.tools.writing": {
        "BATCH": 16, "LONGEST_NAME": 50, "NEW_TOKENS": 256, "SEED": 1234},
    "longform_lab.reporting.printed": {"PRECISION": 0.005},
    "longform_lab.reporting.verdicts": {"LEVEL": 0.95, "OTHER_LEVELS": (0.90, 0.99),
        "SHOWN_ROWS": 6},
    "synthetic_world.articles": {"LEAD_PROBABILITY": 0.3, "HER_OWN": 0.3, "LONG_NAME": 0.4},
    "synthetic_world.corpora": {"REWORDED": 0.5},
    "synthetic_world.corpus": {"SPLIT_CYCLE": ("train",) * 8 + ("validation", "test")},
    "synthetic_world.domains": {"MAX_SECTIONS": 40},
    "synthetic_world.fever_corpus": {"FALSE": 0.5, "ELSEWHERE": 0.5, "SILENT": 3},
    "synthetic_world.grammar": {"ACROSS_PROBABILITY": 0.5},
    "synthetic_world.languages": {"ADJECTIVE_PROBABILITY": 0.6},
    "synthetic_world.lexicon": {"TABLE_SIZE": 1024, "GENERIC_SHARE": 0.2, "ZIPF_EXPONENT": 0.7},
    "synthetic_world.mentions": {
        "RETURN": 0.75, "NEW_WEIGHT": {"MALE": 0.45, "FEMALE": 0.45, "PLURAL": 0.12}, "ORDER": 4,
        "MAX_MENTIONS": 3, "PROTAGONIST": 0.6},
    "synthetic_world.reports": {
        "START": [0.22, 0.12, 0.08, 0.58],
        "TRANSITIONS": [[0.40, 0.10, 0.05, 0.45], [0.25, 0.15, 0.10, 0.50],
                        [0.15, 0.15, 0.10, 0.60], [0.08, 0.07, 0.06, 0.79]],
        "SENTENCES": (8, 14), "ENTITIES": (4, 8), "RATERS": 10, "NOISE": 1.0, "BIAS": 0.4,
        "BEST": 6.0, "SLOPE": 4.0, "SEVERITIES": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "SECTIONS": 3},
    "longform.criticize.cost": {"COPIES_PACE": 200_000},
    "longform.criticize.systems_report": {"WIDTH": 6.5, "LONGEST_NAME": 60, "MORE_PAIRS": 40},
    "longform.critics.bbscore.train": {"EPS": 1e-06, "MOMENTUM": 0.9, "MIN_SENTENCES": 5},
    "longform.critics.code_mixing.mixture": {"TOP_WORDS": 20},
    "longform.critics.code_mixing.read": {"BETA": 0.01, "ALPHA_SUM": 1.0},
    "longform.critics.neural_ranker.train": {"KERNEL": 5},
    "longform.datasets.scientific": {"PUBMED": {"min_sections": 3, "min_title_count": 500},
        "NESTED": 50},
    "longform.datasets.wikipedia.dump": {"MAX_PAGE_BYTES": 4_194_304},
    "longform.datasets.wikipedia.formulas": {"_ROUNDS": 12},
    "longform.datasets.wikipedia.templates": {"NESTING": 40},
    "longform.files.arrays": {"EPOCH": (1980, 1, 1, 0, 0, 0)},
    "longform.files.artefacts": {"DEEPEST": 100},
    "longform.files.opening": {"HEAD": 16, "LARGEST": 1e+300},
    "longform.statistics.splits": {"SHARES": {"train": 0.7, "validation": 0.1, "test": 0.2}},
    "longform.tables": {"RESOLUTION": 150},
    "longform.tools.verifying": {"BATCH": 8},
    "synthetic_world.native_corpus": {"PAGES_PER_STREAM": 100, "FIRST_PAGE_ID": 12, "CYCLE": 20},
    "synthetic_world.world_grammar.recogniser": {"NUMBERS": {"small": (3, 60, False),
        "height": (120, 990, False), "number": (1000, 99000, True)}},
    "longform_lab.study.app": {"LIMIT": 1_000_000},
}  # fmt: skip


@pytest.mark.parametrize("module", CHOICES)
def test_a_choice_of_ours_is_the_documented_number(module):
    found = vars(importlib.import_module(module))
    for name, chosen in CHOICES[module].items():
        value = found[name]
        value = value.tolist() if isinstance(value, np.ndarray) else value
        assert value == chosen, name


# by class the defaults of its own fields
DEFAULTS = {
    "criticize.brought_models:Options": "seed=1234 packaged=True packaged_encoder=True orders=False",
    "criticize.panels:Panel": "required=False measure='sentences' learns='units' splits=5 pace=10000",
    "critics.bbscore.ranker:BridgeRanker": "classifier='three_layer'",
    "critics.bbscore.train:Recipe": "objective='paper' pins=True optimiser='sgd' sgd_rate=0.0001",
    "critics.code_mixing.score:CodeMixing": "own_prior=True",
    "critics.code_mixing.score:LanguageDispersion": "corners=False",
    "critics.code_mixing.score:MixtureReading": "valid=True",
    "critics.entity_grid.score:EntityGrid": "history=1",
    "critics.entity_grid.score:GridRanker": "penalty=0.0 shuffles=20 name='grid-ranker'",
    "critics.lexical.wordnet:Lesk": "extended=True",
    "critics.mauve.score:Mauve": "seeds=(25, 26, 27, 28, 29) buckets=0",
    "critics.mauve.score:TextFeature": "valid=True",
    "critics.perplexity.score:LogProbs": "ended=True",
    "critics.perplexity.score:Perplexity": "count_end=True",
    "critics.repetition.score:GramProportion": "reading='ratio_of_averages' n=4",
    "critics.verifiability.checker:Verdict": "label='not_enough_info' support=0.0 refutation=0.0 conflict=False",
    "critics.verifiability.score:SupportedPerGeneration": "unique=False sentences=5",
    "critics.verifiability.score:SupportedPerVerified": "unique=False pooled=False sentences=5",
    "evaluation.human_study:Judged": "simulated=False",
    "evaluation.human_vs_machine:ClassAccuracy": "classifier='three_layer'",
    "evaluation.order_discrimination:Area": "lower=False",
    "statistics.markov_chain:BigramCritic": "delta=1.0 begin='<bos>' end=True",
    "statistics.markov_chain:MarkovCritic": "end=False",
    "text.permutations:ShuffleTask": "kind='block' sizes=(1,) copies=20",
    "critics.coreference.rules:RuleResolver":
        "sentences_back=3 distance=1.0 subject=0.6 parallel=0.3 known=1.0 order=0.25",
    "critics.surprisal.read:Encoder": "ends='bos' separator='eos'",
    "critics.verifiability.train:ClassifierEntailment": "columns=(0, 1, 2) max_length=512",
    "critics.verifiability.train:MiniCheckEntailment": "max_length=2048",
    "datasets.wikipedia.building:Extraction":
        "shard_bytes=16777216 page_seconds=20 max_page_bytes=4194304",
    "datasets.wikipedia.wikitext:GuardedParser": "page_seconds=20 memory=838860800 wall_factor=30",
    "hsmm.em:Compute": "device='cpu' threads=1 dtype='float32' engine='auto'",
    "hsmm.estimator:HSMM": "iterations=20 max_ngrams=250000 seed=0 device='cpu'",
    "language_models.schedule:Launch": "devices=1 nodes=1 strategy='auto'",
    "language_models.schedule:Schedule": "accumulate=1 validations=4 warmup=0.05 weight_decay=0.0 "
        "clip=1.0 precision='32-true' compile=False checkpointing=False",
    "language_models.translation:Shape":
        "layers=2 heads=4 width=128 inner=512 dropout=0.1 positions=256",
}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_class_has_these_defaults_of_its_own(name):
    module, _, class_name = name.partition(":")
    one_class = getattr(importlib.import_module(f"longform.{module}"), class_name)
    defaults = []
    for field in fields(one_class):
        is_own = field.name in one_class.__annotations__
        is_plain = isinstance(field.default, bool | int | float | str | tuple)
        if is_own and is_plain and field.default not in ("", ()):
            defaults.append(f"{field.name}={field.default!r}")
    assert " ".join(defaults) == DEFAULTS[name]


# by function the defaults of its parameters
ASKED = {
    "critics.code_mixing.score:dirichlet_from_logs": "tolerance=1e-12 steps=1000",
    "critics.entity_grid.score:ranking": "lengths=(2, 3) salience=2",
    "critics.mauve.score:mauve": "seeds=(25, 26, 27, 28, 29) resamples=200",
    "critics.verifiability.train:fit": "entailment='trained' size=48 min_count=3 sure=0.5",
    "criticize.judging:criticize": "orders=False seed=1234",
    "criticize.splits:halves": "number=0",
    "criticize.systems:criticize_systems": "paired=False orders=False seed=1234",
    "criticize.systems:plan_systems": "orders=False seed=1234",
    "critics.base:TextCritic.score": "resamples=1000 seed=0",
    "critics.base:TextCritic.compare": "permutations=2000 resamples=1000 seed=0",
    "critics.bbscore.read:bridge_head": "hidden=128 latent=8",
    "critics.bbscore.train:fit": "seeds=1 latent=8",
    "critics.code_mixing.read:fit": "languages=3 sweeps=1000 burn_in=200 optimise_every=100 restarts=5",
    "critics.code_mixing.score:LanguageDispersion.describe": "count=500",
    "critics.coreference.attribution:ngram_attribution": "order=5 threshold=-7.0",
    "critics.coreference.chains:read_gold": "singletons=True",
    "critics.coreference.rules:read": "singletons=False subject=0.6 keep_text=False",
    "critics.mauve.score:shares": "smoothing=0.0",
    "critics.neural_ranker.train:fit": "sentence=64 pair=32",
    "critics.perplexity.read:read": "batch=16",
    "critics.perplexity.score:ratio": "count_end=True",
    "critics.scores:Attribution.worst": "count=3",
    "critics.section_order.read:read": "batch=16",
    "critics.surprisal.read:read": "ends='bos' separator='eos' budget=1024 share=True",
    "critics.topics.model:build_vocabulary": "min_count=5 max_share=0.5",
    "critics.topics.train:fit": "name='topics' min_count=5 max_share=0.5",
    "critics.topics.train:word_counts": "threads=1",
    "critics.topics.train:m_step": "threads=1",
    "critics.verifiability.read:read_claims": "splits=('test',)",
    "critics.verifiability.reliability:corrected_records": "resamples=500",
    "datasets.encyclopedia:claims": "articles='cities.txt' pairs='symmetric.jsonl' splitter='rules' statements=0 contradictions=0",
    "datasets.fever:build": "with_pages=True",
    "datasets.own_texts:shortened": "limit=60",
    "datasets.shuffled_texts:build": "shuffles=1 splitter='rules'",
    "datasets.test_suites.native:winograd": "lower=True",
    "datasets.test_suites.native:build": "metric='mean' drop_last=False lower=True least=1 match_case=False",
    "datasets.text_files:gcdc": "validation=0.1",
    "datasets.titles:shortened": "max_tokens=500",
    "datasets.wikipedia.building:extract": "workers=1",
    "datasets.wikipedia.building:build": "short_tokens=500 workers=1",
    "datasets.wikipedia.building:most_visited": "pages=1000 least=1000",
    "decoding.completions:generate": "prompt_sentences=2 splitter='full_stops' batch=128",
    "decoding.continuations:generate": "new_tokens=256 split='test' batch=16 splitter='full_stops' title_from='definition' prompt='first_sentence'",
    "decoding.long_documents:generate": "top_k=0 temperature=1.0 redraws=20",
    "decoding.translations:generate": "split='test' temperature=1.0 batch=64",
    "evaluation.order_discrimination:preference_statistics": "tolerance=0.0",
    "evaluation.order_discrimination:order_measurements": "tasks=() train=() heads=('',) tolerance=0.0",
    "evaluation.order_discrimination:order_areas": "train=() heads=('',)",
    "evaluation.sentence_paths:length_confound": "train=() heads=('',)",
    "evaluation.sentence_paths:shuffle_tasks": "judges=('bbscore',) heads=('',) areas=False",
    "evaluation.sentence_paths:length": "heads=('',)",
    "evaluation.verified_texts:decoder_records": "correlated=() resamples=500",
    "evaluation.verified_texts:decoders": "correlations=() resamples=500",
    "evaluation.verified_texts:corrected": "resamples=500",
    "files.opening:rows": "delimiter=',' quoted=True",
    "hsmm.compiled:expectation": "threads=1",
    "hsmm.em:fit_em": "max_ngrams=250000",
    "hsmm.estimator:HSMM.sample": "seed=0 stream='sample'",
    "hsmm.model:build_ngrams": "max_ngrams=250000",
    "hsmm.train:fit": "threads=1",
    "language_models.log_probs:open_reader": "budget=1024 share=True label='log-probs'",
    "language_models.tokenizers:padded": "fill=0 side='right'",
    "language_models.tokenizers:masked": "fill=0 side='right'",
    "language_models.translation:fit": "subwords=4000",
    "statistics.intervals:percentile_interval": "level=0.95",
    "statistics.trainings:two_level_interval": "bounds=(-inf, inf)",
    "evaluation.agreement:clustered_interval": "resamples=1000",
    "evaluation.agreement:compare_correlations": "flips=2000",
    "evaluation.agreement:leave_one_out": "resamples=1000",
    "evaluation.human_vs_machine:text_classification": "classifier='three_layer'",
    "language_models.sentence_features:open_encoder": "batch_tokens=4096",
    "statistics.comparisons:compare": "permutations=2000 matched=False",
    "statistics.comparisons:resampled_difference": "resamples=1000",
    "statistics.estimates:bootstrap_scores": "resamples=1000",
    "statistics.estimates:estimate": "resamples=1000",
    "statistics.resampling:bootstrap": "resamples=1000",
    "statistics.sign_flips:sign_flip_test": "flips=2000",
}


@pytest.mark.parametrize("name", ASKED)
def test_a_function_has_these_defaults(name):
    module, _, function = name.partition(":")
    defined_in = importlib.import_module(f"longform.{module}")
    asked = inspect.signature(operator.attrgetter(function)(defined_in))
    defaults = [
        f"{parameter.name}={parameter.default!r}"
        for parameter in asked.parameters.values()
        if isinstance(parameter.default, bool | int | float | str | tuple)
    ]
    assert " ".join(defaults) == ASKED[name]


# by class its fields that are fitted, that readers have, that are keywords alone, that are not compared, and that are made
MARKS = ("fitted", "reading", "keyword", "uncompared", "made")
MARKED = {
    "critics.bbscore.bridge:BridgeFeatures": "sigma2:f signed:f",
    "critics.bbscore.ranker:BridgeRanker": "features:f mean:f spread:f layers:f",
    "critics.bbscore.score:_PathCritic": "encoder:rk seed:rk head:fk",
    "critics.bbscore.score:JointBridge": "whitener:f",
    "critics.code_mixing.score:_MixtureCritic": "languages:rk seed:rk mixture:fk",
    "critics.code_mixing.score:CodeMixing": "alpha:f top_words:f",
    "critics.coreference.agreement:ChainAgreement": "gold:f",
    "critics.coreference.attribution:AttributionCritic": "held_out:f",
    "critics.coreference.rules:_NameResolver": "first_names:f",
    "critics.coreference.score:_NgramScores": "forms:f orders:f log_unknown:f fitted_discounts:f",
    "critics.coreference.score:_RandomMentions": "symbols:f",
    "critics.entity_grid.score:EntityGrid": "lexicon:rk log_probs:f",
    "critics.entity_grid.score:GridRanker": "lexicon:rk weights:f",
    "critics.lexical.score:SharedNouns": "lexicon:rk",
    "critics.lexical.score:LatentSemanticAnalysis": "lexicon:rk words:f vectors:f",
    "critics.lexical.wordnet:WordnetSimilarity": "taxonomy:f lexicon:rk",
    "critics.lexical.wordnet:InformationSimilarity": "content:f",
    "critics.mauve.score:Mauve": "model:rk real:f centres:f shares:f",
    "critics.neural_ranker.score:NeuralRanker": "model:rk encoder:rk seed:rk",
    "critics.order_and_repetition.score:OrderAndRepetition": "model:rk window:rk shuffles:rk seed:rk reference:fk",
    "critics.perplexity.score:Perplexity": "model:rk window:rk",
    "critics.section_order.classifier_errors:CorrectedTitleCritic": "confusion_names:f confusion_counts:f channel:f",
    "critics.section_order.posterior:ExpectedTitleCritic": "share_names:f log_shares:f",
    "critics.section_order.score:SectionOrder": "reader:rk max_length:rk validation:f true_names:f true_transitions:f",
    "critics.section_order.score:RandomTitleCritic": "titles:f",
    "critics.surprisal.score:SuiteAccuracy": "reference:f",
    "critics.topics.score:Topics": "topics:rk seed:rk model:fk mean:f precision:f",
    "critics.topics.score:RandomTopicCritic": "logits:f variances:f",
    "critics.verifiability.checker:Bm25Lines": "_indices:u",
    "critics.verifiability.checker:Checker": "_verdicts:u",
    "critics.verifiability.read:PageSimilarity": "_weights:um",
    "critics.verifiability.score:_CheckerCritic": "checker:rk",
    "evaluation.human_vs_machine:SourceDetection": "known_values:f",
    "evaluation.measurements:Measurement": "metrics:f all_statistics:f fields:f head_fields:f",
    "statistics.markov_chain:BigramCritic": "names:f log_transitions:f",
    "statistics.markov_chain:MarkovCritic": "names:f transitions:f",
    "text.lexicon:Taxonomy": "_targets:u _walks:u _senses:u",
}  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_fields_that_are_no_settings_are_marked(name):
    module, _, class_name = name.partition(":")
    one_class = getattr(importlib.import_module(f"longform.{module}"), class_name)
    marked = []
    for field in fields(one_class):
        flags = {"keyword": field.kw_only, "uncompared": not field.compare, "made": not field.init}
        marks = "".join(mark[0] for mark in MARKS if {**flags, **field.metadata}.get(mark))
        if marks and field.name in one_class.__annotations__:
            marked.append(f"{field.name}:{marks}")
    assert " ".join(marked) == MARKED[name]

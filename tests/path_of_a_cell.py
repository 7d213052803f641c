"""From a cell of Table 2 to its corpus by definitions alone: ``python -m tests.path_of_a_cell`` prints the way and counts modules.

Source files are parsed and none is run. A step is what an editor's jump does: from a name to the
definition that binds it, through imports at the top of a module or inside a function. The only texts
that are looked up are keys of registries, which ``params.yaml`` names.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Place:
    """A definition: a name of a module."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@cache
def tree_of(module: str) -> ast.Module:
    for folder in (ROOT / "src", ROOT):
        for path in (
            folder.joinpath(*module.split(".")).with_suffix(".py"),
            folder.joinpath(*module.split("."), "__init__.py"),
        ):
            if path.is_file():
                return ast.parse(path.read_text(encoding="utf-8"))
    raise LookupError(f"there is no module {module}")


def imports(tree: ast.AST) -> dict[str, Place]:
    """What the names of import statements stand for, those inside functions too."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = Place(node.module, alias.name)
    return found


def definition(place: Place) -> tuple[Place, ast.stmt]:
    """The statement that defines a name, through any number of imports."""
    tree = tree_of(place.module)
    for node in tree.body:
        names = [getattr(node, "name", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
        if place.name in names:
            return place, node
    imported = imports(tree)
    if place.name not in imported:
        raise LookupError(f"{place.module} does not define {place.name}")
    return definition(imported[place.name])


def entry(registry: Place, key: str) -> Place:
    """The class that a registry has under a key; a registry may be put together of others."""
    home, node = definition(registry)
    known = imports(tree_of(home.module))
    for name, value in zip(node.value.keys, node.value.values, strict=True):
        target = known.get(value.id, Place(home.module, value.id))
        if name is None:  # another registry, spread out
            try:
                return entry(target, key)
            except KeyError:
                continue
        if name.value == key:
            return definition(target)[0]
    raise KeyError(key)


def used(place: Place, name: str) -> Place:
    """The definition of a name that a definition uses: where an editor's jump from it leads."""
    home, node = definition(place)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if name not in names:
        raise LookupError(f"{home} does not use {name}")
    inside = imports(node)
    outside = imports(tree_of(home.module))
    return definition(inside.get(name) or outside.get(name) or Place(home.module, name))[0]


def kind(*keys: str, file: str = "params.yaml") -> str:
    """The ``kind`` of an entry of a parameter file."""
    content = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    for key in keys:
        content = content[key]
    return content["kind"]


def path_of_the_cell() -> Iterator[Place]:
    """The steps from "encyclopedia, GPT-2 (LM1), with titles" of deng2022's Table 2 to the encyclopedia's articles."""
    # the table
    report = Place("longform_lab.reports", "report")
    yield report
    yield used(report, "drawn")
    paper = entry(used(used(report, "drawn"), "PAPERS"), "deng2022")
    yield paper
    exhibit = kind(
        "reports", "sections", "settings", "table_2", file="experiments/deng2022/params.yaml"
    )
    table = entry(used(paper, "EXHIBITS"), exhibit)
    yield table
    yield used(table, "titles")
    # the number: the score of the predicted titles
    score = Place("longform_lab.scoring", "score")
    yield score
    measure = used(used(score, "records_of"), "measure")
    yield measure
    entries = used(used(score, "read_entries"), "_read_entry")
    yield entries
    critic = ("articles", "critics", "section_order")
    metric = entry(used(entries, "METRICS"), kind(*critic, "scores", "metrics", "latent_ppl"))
    yield metric
    yield used(metric, "SectionOrder")
    yield used(measure, "estimate")
    # the predictions: titles of generated texts
    read = Place("longform_lab.criticism", "read")
    yield read
    reading_entry = used(read, "_entry")
    yield reading_entry
    reading = entry(used(reading_entry, "READINGS"), kind(*critic, "predictions", "titles"))
    yield reading
    yield used(reading, "read")
    # the classifier of titles
    train = Place("longform_lab.criticism", "train")
    yield train
    training = entry(used(train, "TRAININGS"), kind(*critic, "train"))
    yield training
    yield used(training, "fit")
    # the generated texts
    generate = Place("longform_lab.texts", "generate")
    yield generate
    sampler = entry(used(used(generate, "_sampler"), "SAMPLERS"), kind("articles", "sampling"))
    yield sampler
    yield used(sampler, "generate")
    # the language model
    language_model = Place("longform_lab.texts", "language_model")
    yield language_model
    model = entry(used(language_model, "MODELS"), kind("models", "gpt2"))
    yield model
    yield used(model, "fit")
    # the corpus
    corpus = Place("longform_lab.texts", "corpus")
    yield corpus
    dataset = entry(used(corpus, "DATASETS"), kind("corpora", "wiki"))
    yield dataset
    build = used(dataset, "build")
    yield build
    yield used(build, "article_corpus")


def modules(path: list[Place]) -> list[str]:
    """The modules that a path goes through, each once, in order."""
    return list(dict.fromkeys(place.module for place in path))


def main() -> None:
    """Print the path and the number of its modules."""
    path = list(path_of_the_cell())
    for place in path:
        print(place)
    print(f"{len(path)} steps, {len(modules(path))} modules")


if __name__ == "__main__":
    main()

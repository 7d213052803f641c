"""What a scale changes: its ``overrides.yaml`` read, merged into ``params.yaml`` and other files.

An override is a dotted key and a value. Mappings are merged; everything else, and an entry of
another ``kind``, is replaced. Beside overrides a scale may have these keys:

- ``extends``: another scale, whose overrides come first;
- ``without``: names that are taken out, by the dotted key below which they stand;
- ``files``: overrides of other YAML files than ``params.yaml``, by path;
- ``targets``: the stages that the scale is about; all stages where it names none;
- ``articles``: how many generated articles of each system are copied with the results;
- ``pictures``: the exhibits whose pictures are copied; those of others that the default run draws
  too are left to it; all are copied where there is no list;
- ``claims``: the name by which claims say why they cannot be tested there (the root's own is
  ``default``).
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longform.errors import BadInput, did_you_mean
from longform.files.yaml_dialect import KIND

TARGETS = "targets"
EXTENDS = "extends"
WITHOUT = "without"
FILES = "files"
ARTICLES = "articles"
PICTURES = "pictures"
CLAIMS = "claims"
# These are no overrides.
KEYS_OF_A_SCALE = (TARGETS, EXTENDS, WITHOUT, FILES, ARTICLES, PICTURES, CLAIMS)

PARAMS = "params.yaml"
PIPELINE = "dvc.yaml"


def apply_overrides(params: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of parameters with a scale's overrides applied.

    Args:
        params: the parameters; they are not changed.
        overrides: values by dotted key, and the keys of a scale, of which ``without`` is obeyed.

    Raises:
        BadInput: a key leads nowhere; the message offers close names.
    """
    result = copy.deepcopy(dict(params))
    # 1. Take names out.
    for dotted, names in (overrides.get(WITHOUT) or {}).items():
        for name in names:
            path = [*dotted.split("."), name]
            del _holder(result, path, f"{WITHOUT}.{dotted}")[name]
    # 2. Change values.
    for dotted, value in overrides.items():
        if dotted in KEYS_OF_A_SCALE:
            continue
        path = dotted.split(".")
        holder = _holder(result, path, dotted)
        holder[path[-1]] = _merged(holder[path[-1]], value)
    return result


def _holder(params: dict[str, Any], path: list[str], key: str) -> dict[str, Any]:
    """The mapping that has the last name of a path; ``key`` is how an error calls the override."""
    holder: Any = params
    for depth, name in enumerate(path):
        if not isinstance(holder, dict) or name not in holder:
            names = holder if isinstance(holder, dict) else ()
            close = did_you_mean(name, names)
            raise BadInput(f"override {key}: params.yaml has no {name!r}{close}; fix the key")
        if depth < len(path) - 1:
            holder = holder[name]
    return holder


def _merged(old: Any, new: Any) -> Any:
    """An old value with an override: mappings are merged entry by entry, all else is replaced."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    if KIND in new and new[KIND] != old.get(KIND):
        return new  # settings of another kind have other names
    merged = dict(old)
    for key, value in new.items():
        merged[key] = _merged(old[key], value) if key in old else value
    return merged


def extended_scales(name: str, root: Path) -> dict[str, dict[str, Any]]:
    """Read the overrides of a scale and of all scales that it extends, directly or indirectly.

    Returns:
        The content of ``overrides.yaml`` (with the key ``extends``) by the scale's name; the most
        basic scale comes first, the named one last.

    Raises:
        BadInput: there is no such scale, or scales extend each other.
    """
    from longform.files.artefacts import read_yaml  # here, since it loads NumPy

    chain: dict[str, dict[str, Any]] = {}
    next_name: str | None = name
    while next_name is not None:
        source = root / "experiments" / "scales" / next_name / "overrides.yaml"
        if not source.is_file():
            files = source.parents[1].glob("*/overrides.yaml")
            scales = sorted(path.parent.name for path in files)
            raise BadInput(f"there is no scale {next_name!r}; allowed are {scales}")
        chain[next_name] = read_yaml(source) or {}
        next_name = chain[next_name].get(EXTENDS)
        if next_name in chain:
            raise BadInput(f"scales {list(chain)} extend each other; fix {EXTENDS} of one")
    return dict(reversed(chain.items()))


def key_of_scale(name: str, root: Path, key: str, default: Any) -> Any:
    """The value of one of ``KEYS_OF_A_SCALE`` for a scale.

    The scale's own value replaces that of the scale that it extends; ``default`` is for neither.
    """
    for overrides in reversed(extended_scales(name, root).values()):
        if key in overrides:
            return overrides[key]
    return default


def parameters(name: str, root: Path) -> dict[str, dict[str, Any]]:
    """The content of every YAML file that a scale changes, with the scale's overrides applied.

    Where a scale changes the reports of a paper (other tables or figures, or other scores), the
    outputs and dependencies of their stages in ``dvc.yaml`` are changed too.

    Returns:
        Contents by the file's path; ``params.yaml`` comes first and has under ``scale`` the name
        that claims use for the scale.
    """
    from longform.files.artefacts import read_yaml  # here, since it loads NumPy

    # 1. The overrides, scale by scale.
    params = read_yaml(root / PARAMS)
    name_for_claims = key_of_scale(name, root, CLAIMS, None)
    if name_for_claims:
        params["scale"] = name_for_claims
    files = {PARAMS: params}
    for overrides in extended_scales(name, root).values():
        files[PARAMS] = apply_overrides(files[PARAMS], overrides)
        for path, changes in (overrides.get(FILES) or {}).items():
            before = files[path] if path in files else read_yaml(root / path)
            files[path] = apply_overrides(before, changes)

    # 2. The stages of changed reports.
    reports = {}
    for path, content in files.items():
        if path.endswith("/params.yaml"):
            reports[Path(path).parent.name] = content["reports"]
    if reports:
        files.setdefault(PIPELINE, read_yaml(root / PIPELINE))
    for paper, subjects in reports.items():
        for subject, report in subjects.items():
            stage = files[PIPELINE]["stages"][f"report_{paper}_{subject}"]
            _set_outputs(stage, paper, report)
    return files


def _set_outputs(stage: dict[str, Any], paper: str, report: Mapping[str, Any]) -> None:
    """Set a stage's outputs to the tables and figures of its report, and its scores as inputs."""
    stage["outs"] = [{folder: {"cache": False}} for folder in exhibit_folders(paper, report)]
    deps = [dep for dep in stage["deps"] if not dep.startswith("data/scores/")]
    stage["deps"] = deps + score_files(report)


def exhibit_folders(paper: str, report: Mapping[str, Any]) -> list[str]:
    """The folders that a report writes, one for each of its tables and figures."""
    return [f"paper_figures/{paper}/{exhibit}" for exhibit in report["exhibits"]]


def score_files(report: Mapping[str, Any]) -> list[str]:
    """The paths of the records that a report reads.

    ``<study>/<critic>`` is a file; a study's name alone is a folder with a file for each system.
    """
    paths = []
    for scores in report["scores"]:
        is_file = "/" in scores
        paths.append(f"data/scores/{scores}.json" if is_file else f"data/scores/{scores}")
    return paths

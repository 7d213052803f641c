"""DVC's side of a parallel run: which stages there are, which are up to date, and writing down that one was run.

Everything here is DVC's own code, called in DVC's own order (``dvc.repo.reproduce``, ``Stage.run``), with two things
spared: a dependency is hashed once per state of its files instead of once per stage, and the lock file is put
together from the text of its stages instead of being parsed again for each.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any

from dvc.dependency import ParamsDependency
from dvc.lock import LockError
from dvc.repo import Repo, lock_repo
from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
from dvc.rwlock import rwlock
from dvc.stage import PipelineStage, Stage
from dvc.stage.cache import RunCacheNotFoundError
from dvc.stage.run import prepare_kwargs
from dvc.stage.serialize import to_single_stage_lockfile
from dvc.utils.serialize import dumps_yaml, load_path
from networkx import lexicographical_topological_sort

from longform.errors import BadInput
from longform.files.artefacts import atomic_write


class Pipeline:
    """The stages that some targets need, and of each those right before it (``needs``) and right after it (``users``).

    Dependencies come first, else the order is that of ``dvc.yaml``; DVC's own differs from run to run.
    """

    def __init__(self, repo: Repo, targets: Sequence[str]) -> None:
        place = {stage: index for index, stage in enumerate(repo.index.stages)}
        one = {
            stage: stage for stage in place
        }  # collecting and the graph give equal objects; state is kept in one
        graph = get_active_graph(repo.index.graph)
        planned = graph.subgraph(plan_repro(graph, collect_stages(repo, targets)))
        self.repo = repo
        self.stages = [
            one[s]
            for s in lexicographical_topological_sort(planned.reverse(), key=place.__getitem__)
        ]
        self.needs = {
            stage: [one[need] for need in planned.successors(stage)] for stage in self.stages
        }
        self.users = {
            stage: [one[user] for user in planned.predecessors(stage)] for stage in self.stages
        }
        self._locks: dict[str, LockText] = {}
        _remember(dependency for stage in self.stages for dependency in stage.deps)

    def up_to_date(self, stage: Stage) -> bool:
        """Whether ``dvc repro`` would skip it; a stage without a command (an import, a frozen one) is left to DVC here."""
        if isinstance(stage, PipelineStage) and not stage.frozen:
            return not stage.changed(upstream=self.needs[stage])
        if stage.reproduce(upstream=self.needs[stage]):
            stage.dump(update_pipeline=False)
        return True

    def restore(self, stage: Stage) -> bool:
        """Take the outputs from the run cache, or leave the stage without them, ready to run."""
        stage.remove_outs(ignore_remove=False, force=False)
        with suppress(RunCacheNotFoundError):
            self.repo.stage_cache.restore(stage)
            self.record(stage)
            return True
        return False

    def begin(self, stage: Stage) -> dict[str, Any]:
        """Note what a stage is about to read; returns what a worker needs: commands, folder, the variables that DVC sets."""
        stage.save_deps()
        variables = {
            name: value
            for name, value in prepare_kwargs(stage)["env"].items()
            if name.startswith("DVC_")
        }
        commands = stage.cmd if isinstance(stage.cmd, list) else stage.cmd.splitlines()
        return {"commands": list(commands), "folder": stage.wdir, "variables": variables}

    def record(self, stage: Stage) -> None:
        """Put the outputs into the cache and the stage into the lock file, as ``Stage.run`` and ``Stage.dump`` do.

        Raises BadInput: a dependency is not what it was when the stage began, so nobody knows which state it read.
        """
        before = {dep: dep.hash_info for dep in stage.deps}
        stage.save_deps()
        moved = [str(dep) for dep in stage.deps if dep.hash_info != before[dep]]
        if moved:
            raise BadInput(f"{moved[0]} changed while it ran; run again")
        in_git = any(not out.use_cache for out in stage.outs if not (out.is_metric or out.is_plot))
        stage.save(run_cache=not in_git)
        stage.commit()
        path = stage.dvcfile._lockfile.path
        if path not in self._locks:
            order = [s.name for s in self.stages if s.path == stage.path]
            known = {
                s.name
                for s in self.repo.index.stages
                if s.path == stage.path and isinstance(s, PipelineStage)
            }
            self._locks[path] = LockText(Path(path), stage.dvcfile.lockfile_contents, order, known)
        self._locks[path].put(stage.name, to_single_stage_lockfile(stage))
        self.repo.scm_context.track_file(os.path.relpath(path))


@contextmanager
def opened(
    folder: Path, targets: Sequence[str], busy: Callable[[], None] | None = None
) -> Iterator[Pipeline]:
    """The pipeline with DVC's lock held: one run per repository, and no other ``dvc`` in the middle of a stage of it.

    Args:
        folder: The repository.
        targets: Stages or files, as for ``dvc repro``.
        busy: Called each time that another process holds the lock, before the next try; without it
            there is one try.

    Raises:
        DvcException: Another ``dvc`` is at work, or a file of the pipeline is wrong.
    """
    repo = Repo(str(folder))
    with closing(repo), _locked(repo, busy), repo.scm_context():
        readers = (
            Path(repo.tmp_dir) / "rwlock"
        )  # DVC writes it in place; where a kill has cut it, it blocks every dvc
        try:
            json.loads(readers.read_text(encoding="utf-8") if readers.exists() else "{}")
        except ValueError:
            readers.unlink()
        pipeline = Pipeline(repo, targets)
        outs = [out.fs_path for stage in pipeline.stages for out in stage.outs]
        with rwlock(repo.tmp_dir, repo.fs, "longform_lab.repro", [], outs, False):
            pass  # raises if a `dvc repro` that has let go of the repository for its command reads or writes one of them
        yield pipeline


@contextmanager
def _locked(repo: Repo, busy: Callable[[], None] | None) -> Iterator[None]:
    """DVC's lock of a repository, which the system takes from a process that dies."""
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(lock_repo(repo))
                break
            except LockError:
                if busy is None:
                    raise
            busy()
        yield


def _remember(dependencies: Iterable[Any]) -> None:
    """Hash a file or folder, and parse a parameter file, again only when a file's time, size or inode moved.

    What is compared with what stays DVC's business.
    """
    kept: dict[tuple[str, str], tuple[Any, Any]] = {}

    def once(path: str, what: str, make: Callable[[], Any]) -> Any:
        state = _state(path)
        if (path, what) not in kept or kept[path, what][0] != state:
            kept[path, what] = (state, make())
        return kept[path, what][1]

    def build(hashed: Any, odb: Any, path: str, fs: Any, hash_name: str, **others: Any) -> Any:
        return once(path, hash_name, lambda: hashed(odb, path, fs, hash_name, **others))

    def read_params(dependency: ParamsDependency, **_: Any) -> dict[str, Any]:
        path = dependency.fs_path
        if not os.path.isfile(path):
            return {}
        parsed, found = once(path, "parsed", lambda: load_path(path, dependency.fs)), {}
        for key in dependency.params:
            with suppress(KeyError, TypeError):
                found[key] = reduce(lambda place, part: place[part], key.split("."), parsed)
        return found

    for dependency in dependencies:
        if not isinstance(dependency, ParamsDependency):
            dependency._build = partial(build, dependency._build)
        elif dependency.params:
            dependency.read_params = partial(read_params, dependency)


def _state(path: str) -> tuple[Any, ...]:
    """Time of change, size and inode of a file, or of every file in a folder: what DVC's own memory of hashes goes by."""
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name != "__pycache__")
        return tuple((name, _state(os.path.join(path, name))) for name in names)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


class LockText:
    """``dvc.lock`` as one text per stage: the bytes that DVC writes, replaced whole, so that a kill leaves old or new.

    DVC parses and formats the file anew for each stage, about a second for a hundred stages. It keeps a stage that is in
    ``dvc.yaml`` no longer; here only the ``known`` ones stay.
    """

    def __init__(
        self, path: Path, contents: Mapping[str, Any], order: Sequence[str], known: Collection[str]
    ) -> None:
        self.path, self._order = path, list(order)
        self._head = {"schema": "2.0"} | {
            name: value for name, value in contents.items() if name != "stages"
        }
        self._stages: dict[str, str] = {}
        for name, record in contents.get("stages", {}).items():
            if name in known:
                self._format(name, record)

    def _format(self, name: str, record: Mapping[str, Any]) -> None:
        self._stages[name] = dumps_yaml({"stages": {name: dict(record)}}).removeprefix("stages:\n")

    def put(self, name: str, record: Mapping[str, Any]) -> None:
        """Write the file with this stage; a new one comes after the one before it in the pipeline."""
        if name not in self._stages:
            names = list(self._stages)
            before = [
                other for other in self._order[: self._order.index(name)] if other in self._stages
            ]
            names.insert(names.index(before[-1]) + 1 if before else 0, name)
            self._stages = {other: self._stages.get(other, "") for other in names}
        self._format(name, record)
        with atomic_write(self.path) as partial_file:
            text = dumps_yaml(self._head) + "stages:\n" + "".join(self._stages.values())
            partial_file.write_text(text, encoding="utf-8")

"""DVC's side of a parallel run: which stages there are, which are up to date, and recording a run.

Everything here is DVC's own code, called in DVC's own order (``dvc.repo.reproduce``,
``Stage.run``), with two things spared: a dependency is hashed once per state of its files instead
of once per stage, and the lock file is put together from the text of its stages instead of being
parsed again for each.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
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
    """The stages that have to run for some targets, and the graph of them.

    Attributes:
        stages: dependencies first, otherwise in the order of ``dvc.yaml``; DVC's own order differs
            from run to run.
        needs: for each stage the stages whose outputs it reads.
        users: for each stage the stages that read its outputs.
    """

    def __init__(self, repo: Repo, targets: Sequence[str]) -> None:
        position = {stage: index for index, stage in enumerate(repo.index.stages)}
        graph = get_active_graph(repo.index.graph)
        planned = graph.subgraph(plan_repro(graph, collect_stages(repo, targets)))
        in_order = lexicographical_topological_sort(planned.reverse(), key=position.__getitem__)
        # Collecting and the graph give objects that are equal but not the same, and a stage keeps
        # its state: so each is replaced by the one of the index.
        of_index = {stage: stage for stage in position}
        self.repo = repo
        self.stages = [of_index[stage] for stage in in_order]
        self.needs: dict[Stage, list[Stage]] = {}
        self.users: dict[Stage, list[Stage]] = {}
        for stage in self.stages:
            self.needs[stage] = [of_index[other] for other in planned.successors(stage)]
            self.users[stage] = [of_index[other] for other in planned.predecessors(stage)]
        self._locks: dict[str, LockText] = {}
        memory = _Memory()
        for stage in self.stages:
            _remember_hashes(stage.deps, memory)

    def up_to_date(self, stage: Stage) -> bool:
        """Whether ``dvc repro`` would skip a stage.

        A stage without a command (an import, a frozen one) is left to DVC here.
        """
        if isinstance(stage, PipelineStage) and not stage.frozen:
            return not stage.changed(upstream=self.needs[stage])
        if stage.reproduce(upstream=self.needs[stage]):
            stage.dump(update_pipeline=False)
        return True

    def restore(self, stage: Stage) -> bool:
        """Restore a stage's outputs from the run cache, and record the stage.

        Returns:
            Whether the run cache had them; if not, old outputs are gone and the stage can run.
        """
        stage.remove_outs(ignore_remove=False, force=False)
        with suppress(RunCacheNotFoundError):
            self.repo.stage_cache.restore(stage)
            self.record(stage)
            return True
        return False

    def begin(self, stage: Stage) -> dict[str, Any]:
        """Hash a stage's dependencies, just before it runs.

        Returns:
            The arguments of ``run_commands``: ``commands``, ``folder``, and ``variables``, the
            environment variables that DVC sets.
        """
        stage.save_deps()
        variables = {}
        for name, value in prepare_kwargs(stage)["env"].items():
            if name.startswith("DVC_"):
                variables[name] = value
        commands = stage.cmd if isinstance(stage.cmd, list) else stage.cmd.splitlines()
        return {"commands": list(commands), "folder": stage.wdir, "variables": variables}

    def record(self, stage: Stage) -> None:
        """Put the outputs into the cache and the stage into the lock file.

        It does what ``Stage.run`` and ``Stage.dump`` do.

        Raises:
            BadInput: a dependency changed while the stage ran, so that the stage may have read
                either version.
        """
        # Saving the dependencies hashes them anew, in place.
        before = {dependency: dependency.hash_info for dependency in stage.deps}
        stage.save_deps()
        for dependency in stage.deps:
            if dependency.hash_info != before[dependency]:
                raise BadInput(f"{dependency} changed while it ran; run again")
        # The run cache cannot restore an output that git keeps in place of DVC's cache, so a stage
        # with one is left out of it. Metrics and plots, which git keeps too, are let through.
        outputs = [out for out in stage.outs if not (out.is_metric or out.is_plot)]
        stage.save(run_cache=all(out.use_cache for out in outputs))
        stage.commit()
        lock = self._lock_text(stage)
        lock.put(stage.name, to_single_stage_lockfile(stage))
        self.repo.scm_context.track_file(os.path.relpath(lock.path))

    def _lock_text(self, stage: Stage) -> "LockText":
        """The lock file of a stage."""
        path = stage.dvcfile._lockfile.path
        if path not in self._locks:
            order = [other.name for other in self.stages if other.path == stage.path]
            in_pipeline = set()
            for other in self.repo.index.stages:
                if other.path == stage.path and isinstance(other, PipelineStage):
                    in_pipeline.add(other.name)
            contents = stage.dvcfile.lockfile_contents
            self._locks[path] = LockText(Path(path), contents, order, in_pipeline)
        return self._locks[path]


@contextmanager
def opened(
    folder: Path, targets: Sequence[str], busy: Callable[[], None] | None = None
) -> Iterator[Pipeline]:
    """Open a repository's pipeline while DVC's lock on it is held.

    The lock allows one run per repository, and no other ``dvc`` in the middle of one of its stages.

    Args:
        folder: the repository.
        targets: stages or files, as for ``dvc repro``.
        busy: called each time that another process holds the lock, before the next try; without it
            there is one try.

    Raises:
        DvcException: another ``dvc`` is at work, or a file of the pipeline is malformed.
    """
    repo = Repo(str(folder))
    with closing(repo), _locked(repo, busy), repo.scm_context():
        _remove_cut_readers(Path(repo.tmp_dir) / "rwlock")
        pipeline = Pipeline(repo, targets)
        outs = [out.fs_path for stage in pipeline.stages for out in stage.outs]
        with rwlock(repo.tmp_dir, repo.fs, "longform_lab.repro", [], outs, False):
            # Taken only to raise where another `dvc repro`, which gives up the repository's lock
            # while its command runs, reads or writes one of these outputs.
            pass
        yield pipeline


def _remove_cut_readers(file: Path) -> None:
    """Remove DVC's list of readers and writers if it is not JSON.

    DVC writes the file in place, so a kill can truncate it, and then every ``dvc`` fails.
    """
    if not file.exists():
        return
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        file.unlink()


@contextmanager
def _locked(repo: Repo, busy: Callable[[], None] | None) -> Iterator[None]:
    """Hold DVC's lock of a repository; the system releases it if the process dies."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock_repo(repo))
                break
            except LockError:
                if busy is None:
                    raise
            busy()
        yield


class _Memory:
    """A cache of values computed from files and folders.

    A value holds until the time, size or inode of its file changes.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], tuple[Any, Any]] = {}  # state and value

    def get(self, path: str, what: str, compute: Callable[[], Any]) -> Any:
        """The value ``what`` of a path, computed if there is none for the path's present state."""
        state = _state(path)
        state_and_value = self._values.get((path, what))
        if state_and_value is None or state_and_value[0] != state:
            state_and_value = (state, compute())
            self._values[path, what] = state_and_value
        return state_and_value[1]


def _state(path: str) -> tuple[Any, ...]:
    """Time of change, size and inode of a file, or of every file in a folder.

    DVC's own memory of hashes goes by the same.
    """
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name != "__pycache__")
        return tuple((name, _state(os.path.join(path, name))) for name in names)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _remember_hashes(dependencies: Iterable[Any], memory: _Memory) -> None:
    """Let dependencies take hashes and parsed parameters from a cache.

    DVC decides as before what is compared with what; only the reading is spared.
    """

    def build(hashed: Any, odb: Any, path: str, fs: Any, hash_name: str, **others: Any) -> Any:
        """DVC's ``build`` (of a file's hash), which it calls as the dependency's ``_build``."""
        return memory.get(path, hash_name, lambda: hashed(odb, path, fs, hash_name, **others))

    def read_params(dependency: ParamsDependency, **_: Any) -> dict[str, Any]:
        """DVC's ``ParamsDependency.read_params``: the values of the dotted keys that are there."""
        path = dependency.fs_path
        if not os.path.isfile(path):
            return {}
        parsed = memory.get(path, "parsed", lambda: load_path(path, dependency.fs))
        values = {}
        for key in dependency.params:
            with suppress(KeyError, TypeError):
                values[key] = _at(parsed, key)
        return values

    # DVC asks each dependency for its hash by these names.
    for dependency in dependencies:
        if not isinstance(dependency, ParamsDependency):
            dependency._build = partial(build, dependency._build)
        elif dependency.params:
            dependency.read_params = partial(read_params, dependency)


def _at(parsed: Any, key: str) -> Any:
    """The value at a dotted key."""
    value = parsed
    for part in key.split("."):
        value = value[part]
    return value


class LockText:
    """``dvc.lock`` as one text per stage: the bytes that DVC writes, replaced at once.

    DVC parses and formats the file anew for each stage, about a second for a hundred stages.

    Args:
        path: the file.
        contents: what it has now, parsed.
        order: the names of stages as they come in the pipeline.
        in_pipeline: the names of stages that ``dvc.yaml`` has. DVC keeps the record of a stage that
            has gone; here it goes too.
    """

    def __init__(
        self,
        path: Path,
        contents: Mapping[str, Any],
        order: Sequence[str],
        in_pipeline: Collection[str],
    ) -> None:
        self.path = path
        self._order = list(order)
        self._head: dict[str, Any] = {"schema": "2.0"}
        for name, value in contents.items():
            if name != "stages":
                self._head[name] = value
        self._stages: dict[str, str] = {}
        for name, record in contents.get("stages", {}).items():
            if name in in_pipeline:
                self._stages[name] = _formatted(name, record)

    def put(self, name: str, record: Mapping[str, Any]) -> None:
        """Put a stage's record into the file, replacing the file at once.

        A stage that the file does not have yet is added behind the stage that precedes it in the
        pipeline.
        """
        if name not in self._stages:
            self._stages = self._with_place_for(name)
        self._stages[name] = _formatted(name, record)
        with atomic_write(self.path) as partial_file:
            text = dumps_yaml(self._head) + "stages:\n" + "".join(self._stages.values())
            partial_file.write_text(text, encoding="utf-8")

    def _with_place_for(self, name: str) -> dict[str, str]:
        """The texts of all stages, with an empty one where a new stage belongs."""
        names = list(self._stages)
        # Behind the last of the stages that precede it in the pipeline and are in the file.
        index = 0
        for other in self._order[: self._order.index(name)]:
            if other in self._stages:
                index = names.index(other) + 1
        names.insert(index, name)
        return {other: self._stages.get(other, "") for other in names}


def _formatted(name: str, record: Mapping[str, Any]) -> str:
    """A stage's record as text in the form of the lock file."""
    return dumps_yaml({"stages": {name: dict(record)}}).removeprefix("stages:\n")

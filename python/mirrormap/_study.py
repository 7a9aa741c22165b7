# SPDX-License-Identifier: Apache-2.0
"""Studies: learn a map, train agents, compare maps over environments, tune settings."""

from __future__ import annotations

import ctypes as c
import dataclasses
import itertools
import os
import pathlib
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from ._library import (
    InputError,
    StudyCell,
    StudyConfig,
    StudyMachine,
    StudyProgress,
    StudyReport,
    default,
    encode,
    error,
    lib,
    setting_texts,
    texts,
)
from ._map import Map
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

_KINDS = ["learn", "train", "transfer", "tune"]
_INTERRUPTED = 6

Path = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Progress:
    """How a study stands; what a callback is given."""

    done: float  # of the whole study, earlier sessions included,
    total: float
    unit: str  # in `generations`, `runs` or `trials`
    failed: int  # runs without a value
    diverged: int  # runs that count with their last finite policy
    env_steps: int  # of this process, in
    seconds: float  # so many seconds of training


@dataclasses.dataclass(frozen=True)
class Cell:
    """Final returns of one map on one environment."""

    env: str
    map: str
    mean: float
    sem: float
    n: int  # runs with a value
    failed: int
    diverged: int
    finals: npt.NDArray[np.float64]  # in the order of the seeds, nan without a value
    seed: int  # of the first
    eta: float


Callback = Callable[[Progress], object]


class RunOptions(TypedDict, total=False):
    """Who does the work of a study, and who watches."""

    callback: Callback | None  # is given a Progress a few times a second; a true value stops the study, and so does
    #                            an exception, which is raised
    progress: bool | None  # a bar on stderr; None: if that is a terminal
    backend: str  # `cpu`, `cuda` or `auto`
    threads: int  # 0 for one per core
    save_seconds: float  # how often unfinished runs are checkpointed


class Options(RunOptions, total=False):
    """What `learn`, `train`, `transfer` and `tune` take beside their own arguments."""

    seed: int | None  # the random seed, of the first run
    algo: str | None
    preset: Path | None
    settings: Mapping[str, object] | None
    folder: Path | None  # None: runs/<command>-<env>-<n>


class _CtrlC:
    """While it is entered Ctrl-C sets a flag, which the library looks at; KeyboardInterrupt is raised
    when it is left. Python's own handler raises between any two lines, also where a study has just
    been opened and nobody has it yet, and in a callback, where exceptions are lost.
    """

    def __init__(self) -> None:
        self.stop = c.c_int(0)
        self.interrupted = False
        self.before: Any = None

    def __enter__(self) -> _CtrlC:
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self.interrupt)
        return self

    def interrupt(self, number: int, frame: Any) -> None:
        self.interrupted, self.stop.value = True, 1

    def __exit__(self, *problem: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.interrupted:
            raise KeyboardInterrupt


class _Reporter:
    """What the library calls while a study advances."""

    def __init__(self, study: Study, ctrl_c: _CtrlC, callback: Callback | None, bar: bool) -> None:
        self.study, self.stop, self.callback, self.bar = study, ctrl_c.stop, callback, bar
        self.drawn = False
        self.problem: BaseException | None = None

    def __call__(self, done: int, total: int, env_steps: int, user: int | None) -> None:
        try:
            progress = self.study.progress
            if self.bar:
                self.draw(progress, done, total)
            if self.callback and self.callback(progress):
                self.stop.value = 1
        except BaseException as problem:  # an exception cannot pass through C
            self.problem, self.stop.value = problem, 1

    def draw(self, progress: Progress, done: int, total: int) -> None:
        blocks = int(30 * min(progress.done / max(progress.total, 1), 1))
        rate = progress.env_steps / progress.seconds / 1e6 if progress.seconds > 0 else 0
        sys.stderr.write(
            f"\r{'█' * blocks}{'░' * (30 - blocks)} {progress.done:.4g}/{progress.total:.4g} {progress.unit}"
            f"  {done}/{total} runs in hand  {rate:.1f} M steps/s \x1b[K"
        )
        sys.stderr.flush()
        self.drawn = True


class Study:
    """A study in its folder: `learn`, `train`, `transfer`, `tune` and `resume` return one.

    Whoever stops it (Ctrl-C, a callback, an exception, a killed process) loses nothing: `run()`, or
    `resume(folder)` in another process, goes on to the same bits.
    """

    def __init__(self, pointer: int) -> None:
        self._study = pointer
        self._busy = threading.Lock()
        self._folder = os.fsdecode(lib.mm_study_folder(pointer))
        self._kind: str = _KINDS[lib.mm_study_get_kind(pointer)]

    def _pointer(self) -> int:
        if not self._study:
            raise InputError(f"the study {self._folder} is closed")
        return self._study

    def __del__(self) -> None:
        if getattr(self, "_study", 0):
            lib.mm_study_close(self._study)

    def __reduce__(self) -> Any:
        raise TypeError("studies are not copied or pickled: resume(folder) opens one")

    def close(self) -> None:
        """Gives the folder free for other processes."""
        with self._busy:
            lib.mm_study_close(self._study)
            self._study = 0

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @property
    def kind(self) -> str:
        """`learn`, `train`, `transfer` or `tune`."""
        return self._kind

    @property
    def folder(self) -> pathlib.Path:
        """Where it lives."""
        return pathlib.Path(self._folder)

    @property
    def done(self) -> bool:
        """Whether nothing is left to be done."""
        return bool(lib.mm_study_done(self._pointer()))

    @property
    def progress(self) -> Progress:
        """How it stands."""
        now = StudyProgress()
        lib.mm_study_look(self._pointer(), c.byref(now))
        unit: bytes = now.unit
        return Progress(
            now.done, now.total, unit.decode(), now.n_failed, now.n_numeric, now.env_steps, now.seconds
        )

    def run(self, **options: Unpack[RunOptions]) -> Study:
        """Does what is left.

        callback: is given a Progress a few times a second; a true value stops the study, an
        exception too, and is raised. progress: a bar on stderr (None: if that is a terminal).
        backend: `cpu`, `cuda` or `auto`. threads: 0 for one per core. save_seconds: how often
        unfinished runs are checkpointed (60).

        Ctrl-C raises KeyboardInterrupt when the state is stored.
        """
        with _CtrlC() as ctrl_c:
            self._run(ctrl_c, **options)
        return self

    def _run(
        self,
        ctrl_c: _CtrlC,
        callback: Callback | None = None,
        progress: bool | None = None,
        backend: str = "auto",
        threads: int = 0,
        save_seconds: float = 60,
    ) -> None:
        machine: StudyMachine = default(StudyMachine)
        machine.backend = encode(backend)
        machine.threads = _whole("threads", threads, 2**16)
        machine.save_seconds = save_seconds
        machine.stop = c.pointer(ctrl_c.stop)
        reporter = _Reporter(self, ctrl_c, callback, sys.stderr.isatty() if progress is None else progress)
        machine.progress = StudyReport(reporter)
        if not self._busy.acquire(blocking=False):
            raise InputError(f"the study {self._folder} is in use by another thread")
        try:
            while not self.done and not ctrl_c.stop.value:
                status = lib.mm_study_advance(self._pointer(), c.byref(machine))
                if status and not (status == _INTERRUPTED and ctrl_c.stop.value):
                    raise error(status)
            outcome = "done" if self.done else "interrupted" if ctrl_c.interrupted else "stopped"
            lib.mm_study_end(self._pointer(), outcome.encode())
        finally:
            self._busy.release()
            if reporter.drawn:
                sys.stderr.write("\n")
        if reporter.problem:
            raise reporter.problem

    # -------------------------------------------------------------------------------------
    # Results

    @property
    def cells(self) -> list[Cell]:
        """Final returns of each map on each environment, as far as they are there."""
        cells, cell = [], StudyCell()
        for i in range(lib.mm_study_cells(self._pointer())):
            lib.mm_study_cell_at(self._study, i, c.byref(cell))
            finals = np.array(cell.final[: cell.n_seed] if cell.final else [], np.float64)
            cells.append(
                Cell(
                    cell.env.decode(),
                    cell.map.decode(),
                    cell.mean,
                    cell.sem,
                    cell.n,
                    cell.n_failed,
                    cell.n_numeric,
                    finals,
                    cell.seed,
                    cell.eta,
                )
            )
        return cells

    @property
    def mean(self) -> float:
        """The mean final return; of `train`."""
        return self._one().mean

    @property
    def sem(self) -> float:
        """Its standard error; of `train`."""
        return self._one().sem

    @property
    def finals(self) -> npt.NDArray[np.float64]:
        """The final returns in the order of the seeds; of `train`."""
        return self._one().finals

    def _one(self) -> Cell:
        cells = self.cells
        if len(cells) != 1:
            raise InputError(f"the study {self._folder} has {len(cells)} cells, see cells")
        return cells[0]

    @property
    def best(self) -> Map:
        """The map that a `learn` study found: the best validated mean."""
        out = c.c_void_p()
        lib.mm_study_map(self._pointer(), c.byref(out))
        return Map._own(out)

    def setting(self, key: str) -> str:
        """A setting of the winner of a `tune` study, e.g. `eta`."""
        out = c.create_string_buffer(128)
        lib.mm_study_setting(self._pointer(), encode(key), out)
        return out.value.decode()

    def to_table(self) -> Table:
        """The cells, a row each."""
        rows = [{**vars(cell), "finals": cell.finals.tolist()} for cell in self.cells]
        return Table("cells", rows)

    def to_frame(self) -> Any:
        """The cells as a data frame of pandas."""
        return self.to_table().to_frame()

    def __repr__(self) -> str:
        if not self._study:
            return f"Study({self._folder!r}, closed)"
        now = self.progress
        return f"Study({self._folder!r}, {self._kind}, {now.done:.4g} of {now.total:.4g} {now.unit})"


# ---------------------------------------------------------------------------------------------
# Making one


def _names(values: Path | Map | Iterable[Path | Map] | None) -> list[Any]:
    if values is None:
        return []
    return [values] if isinstance(values, (str, Map, os.PathLike)) else list(values)


def _default_folder(kind: str, envs: Sequence[str]) -> str:
    """runs/<command>-<env>-<n>, as the program's."""
    env = pathlib.PurePath(envs[0]).stem if envs and envs[0].endswith((".yaml", ".yml")) else "-".join(envs)
    name = env.replace("/", "-")[:80]
    names = (f"runs/{kind}-{name}-{n}" for n in itertools.count(1))
    return next(folder for folder in names if not os.path.exists(folder))


def _study(kind: str, envs: Any, maps: Any, options: Options, **numbers: Any) -> Study:
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(f"{kind}() got an unexpected keyword argument {min(unknown)!r}")
    config: StudyConfig = default(StudyConfig, _KINDS.index(kind))
    env_names = [os.fspath(env) for env in _names(envs)]
    folder, algo, preset = options.get("folder"), options.get("algo"), options.get("preset")
    where = os.fspath(folder) if folder is not None else _default_folder(kind, env_names)
    map_names = [_map_name(each) for each in _names(maps)]
    config.env, config.n_env = texts(env_names)
    config.map, config.n_map = texts(map_names)
    config.set, config.n_set = texts(setting_texts(options.get("settings") or {}))
    config.algo = None if algo is None else encode(algo)
    config.preset = None if preset is None else encode(preset)
    seed = options.get("seed")
    config.seed = _whole("seed", 0 if seed is None else seed, 2**64 - 1)
    for name, value in numbers.items():
        if value is None:
            continue
        if name == "space":
            value = encode(value)
        elif name not in ("prune", "tune_budget"):
            value = _whole(name, value, 2**48)
        setattr(config, name, value)
    run = {name: value for name, value in options.items() if name in RunOptions.__annotations__}
    return _started(lambda out: lib.mm_study_create(encode(where), c.byref(config), out), run)


def _started(begin: Callable[[Any], object], run: Mapping[str, Any]) -> Study:
    """A study that is created or opened, and run; one that does not get to the end of that must not
    keep its folder."""
    study = None
    try:
        with _CtrlC() as ctrl_c:
            out = c.c_void_p()
            begin(c.byref(out))
            study = Study(out.value or 0)
            study._run(ctrl_c, **run)
    except BaseException:
        if study:
            study.close()
        raise
    return study


def _whole(name: str, value: Any, most: int) -> int:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if not isinstance(value, (int, np.integer)) or not 0 <= value <= most:
        raise InputError(f"{name}: expected a whole number from 0 to {most}, not {value!r}")
    return int(value)


def _map_name(value: Path | Map) -> str:
    if isinstance(value, Map):
        raise InputError("a study names its maps, so that it can be resumed: save the map and give its file")
    return os.fspath(value)


def train(
    env: str, map: Path = "negentropy", *, seeds: int | None = None, **options: Unpack[Options]
) -> Study:
    """Trains agents with one map on one environment, `seeds` of them.

    Options of all studies: seed (of the first run), algo, preset, settings, folder, and those of Study.run.

    >>> import mirrormap as mm, tempfile
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> result = mm.train("CartPole-v1", "l2", seeds=2, settings={"steps": 1e4}, folder=folder)
    >>> result.finals.shape, result.done
    ((2,), True)
    """
    return _study("train", env, map, options, seeds=seeds)


def learn(env: str | Sequence[str], *, init: Path | None = None, **options: Unpack[Options]) -> Study:
    """Searches for a map by evolution; the result is `best`. Options as of `train`."""
    return _study("learn", env, init, options)


def transfer(
    maps: Sequence[Path],
    envs: Sequence[str],
    *,
    seeds: int | None = None,
    tune_seeds: int | None = None,
    tune_budget: float | None = None,
    **options: Unpack[Options],
) -> Study:
    """Maps by environments, `seeds` runs of each; the results are `cells`. Options as of `train`."""
    return _study("transfer", envs, maps, options, seeds=seeds, tune_seeds=tune_seeds, tune_budget=tune_budget)


def tune(
    env: str | Sequence[str],
    maps: str | Sequence[Path],
    space: Path,
    *,
    trials: int | None = None,
    population: int | None = None,
    validate: int | None = None,
    prune: bool | None = None,
    seeds: int | None = None,
    **options: Unpack[Options],
) -> Study:
    """Tries the settings of the file `space`; `setting(key)` is the winner's. Options as of `train`."""
    own = {"space": space, "trials": trials, "population": population, "validate": validate, "prune": prune}
    return _study("tune", env, maps, options, seeds=seeds, **own)


def resume(folder: Path, **options: Unpack[RunOptions]) -> Study:
    """The study in `folder`, with what was left of it done; options as of Study.run."""
    return _started(lambda out: lib.mm_study_open(encode(folder), out), options)

# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is, its structs and functions, its errors as exceptions.

Declared here is what include/mirrormap/*.h declares; python/tests/test_library.py holds the structs
to the list of the binary interface (tests/abi/interface.txt).
"""

from __future__ import annotations

import ctypes as c
import importlib.metadata
import os
import pathlib
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

__version__ = "0.1.0"


# ---------------------------------------------------------------------------------------------
# Errors


class Error(Exception):
    """A call of the library failed; the text is the library's own sentence."""


class InputError(Error, ValueError):
    """Bad input: a name, a file, a number or an array that the library does not take."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class FileError(Error, OSError):
    """Reading or writing failed, or another process owns the folder."""


class NumericError(Error, ArithmeticError):
    """A numerical failure."""


class UnsupportedError(Error, RuntimeError):
    """Not available in this build or on this machine."""


class Interrupted(Error):
    """Stopped before the end."""


class DeviceError(Error, RuntimeError):
    """The GPU failed."""


class TimedOut(Error, TimeoutError):
    """Not done in the time allowed."""


# in the order of mm_status
_ERRORS: list[type[Error]] = [
    Error,
    InputError,
    OutOfMemoryError,
    FileError,
    NumericError,
    UnsupportedError,
    Interrupted,
    DeviceError,
    TimedOut,
]


def error(status: int) -> Error:
    """The exception for a status, with the sentence of the call that failed last."""
    kind = _ERRORS[status] if 0 < status < len(_ERRORS) else Error
    return kind(lib.mm_last_error().decode() or lib.mm_status_text(status).decode())


def _check(status: int, function: Any, arguments: Any) -> int:
    if status:
        raise error(status)
    return status


# ---------------------------------------------------------------------------------------------
# Structs, in the order of the headers

_size, _double, _float, _bool, _int, _text = c.c_size_t, c.c_double, c.c_float, c.c_bool, c.c_int, c.c_char_p
_u8, _u32, _u64, _i32, _i64, _pointer = c.c_uint8, c.c_uint32, c.c_uint64, c.c_int32, c.c_int64, c.c_void_p


class MapReport(c.Structure):
    _fields_ = [
        ("valid", _bool),
        ("strictly_increasing", _bool),
        ("essentially_smooth", _bool),
        ("phi_inverse_at_0", _double),
        ("phi_inverse_at_1", _double),
        ("integral", _double),
        ("n_failure", _int),
        ("n_warning", _int),
        ("failure", (c.c_char * 200) * 8),
        ("warning", (c.c_char * 200) * 8),
    ]


class EnvInfo(c.Structure):
    _fields_ = [("id", _text), ("summary", _text), ("algo", _text), ("preset", _text)]


class VecConfig(c.Structure):
    _fields_ = [
        ("size", _size),
        ("n", _size),
        ("seed", _u64),
        ("repeat", _u32),
        ("obs", _int),
        ("rules", _int),
        ("gymnasium_walls", _bool),
        ("flavour", _int),
        ("physics", _int),
        ("fresh_reset", _bool),
        ("episodes", _bool),
        ("autoreset", _int),
    ]


class VecInfo(c.Structure):
    _fields_ = [
        ("n", _size),
        ("n_action", _i32),
        ("n_real", _i32),
        ("low", _float),
        ("high", _float),
        ("n_input", _i32),
        ("entries", _i32),
        ("obs_size", _size),
        ("limit", _i32),
        ("action_name", c.POINTER(_text)),
    ]


class VecOut(c.Structure):
    _fields_ = [("obs", _pointer), ("final_obs", _pointer), ("reward", _pointer), ("end", _pointer)]


class EsConfig(c.Structure):
    _fields_ = [
        ("size", _size),
        ("kind", _int),
        ("dimension", _size),
        ("population", _size),
        ("sigma", _double),
        ("seed", _u64),
        ("restarts", _size),
        ("shaping", _int),
        ("lr", _double),
        ("sigma_decay", _double),
        ("sigma_min", _double),
    ]


class StudyConfig(c.Structure):
    _fields_ = [
        ("size", _size),
        ("kind", _int),
        ("env", c.POINTER(_text)),
        ("n_env", _size),
        ("map", c.POINTER(_text)),
        ("n_map", _size),
        ("algo", _text),
        ("preset", _text),
        ("set", c.POINTER(_text)),
        ("n_set", _size),
        ("seed", _u64),
        ("seeds", _size),
        ("tune_seeds", _size),
        ("space", _text),
        ("trials", _size),
        ("population", _size),
        ("validate", _size),
        ("prune", _bool),
        ("tune_budget", _double),
        ("open_map", c.POINTER(_pointer)),
        ("map_label", c.POINTER(_text)),
        ("env_label", c.POINTER(_text)),
        ("n_control", _size),
        ("method", _text),
        ("argv", c.POINTER(_text)),
    ]


StudyReport = c.CFUNCTYPE(None, _size, _size, _u64, _pointer)


class StudyMachine(c.Structure):
    _fields_ = [
        ("size", _size),
        ("backend", _text),
        ("threads", _int),
        ("job_timeout", _double),
        ("save_seconds", _double),
        ("stop", c.POINTER(_int)),
        ("progress", StudyReport),
        ("user", _pointer),
        ("devices", c.POINTER(_int)),
        ("n_device", _size),
    ]


class StudyProgress(c.Structure):
    _fields_ = [
        ("done", _double),
        ("total", _double),
        ("unit", _text),
        ("n_failed", _size),
        ("n_numeric", _size),
        ("env_steps", _u64),
        ("seconds", _double),
    ]


class StudyCell(c.Structure):
    _fields_ = [
        ("env", _text),
        ("map", _text),
        ("mean", _double),
        ("sem", _double),
        ("n", _size),
        ("n_failed", _size),
        ("n_numeric", _size),
        ("final", c.POINTER(_double)),
        ("n_seed", _size),
        ("seed", _u64),
        ("eta", _double),
    ]


class StudyValue(c.Structure):
    _fields_ = [
        ("name", _text),
        ("type", _int),
        ("integer", _i64),
        ("real", _double),
        ("data", _pointer),
        ("bytes", _size),
    ]


class PolicyInfo(c.Structure):
    _fields_ = [
        ("env_id", _text),
        ("algo", _int),
        ("config", _pointer),
        ("map", _pointer),
        ("eta", _double),
        ("seed", _u64),
        ("n", _size),
        ("final_value", c.POINTER(_double)),
        ("n_input", _i32),
        ("n_action", _i32),
        ("n_real", _i32),
        ("hidden", _i32 * 2),
        ("relu", _bool),
    ]


class PolicyTensor(c.Structure):
    _fields_ = [("name", _text), ("dims", _size), ("shape", _size * 3), ("data", c.POINTER(_float))]


class Draw(c.Structure):
    _fields_ = [("seed", _u64), ("repeat", _u32), ("first", _u32), ("step", _u64)]


SeeRow = c.CFUNCTYPE(_int, c.POINTER(StudyValue), _size, _pointer)

# the structs by their names in C
STRUCTS: dict[str, type[c.Structure]] = {
    "mm_map_report": MapReport,
    "mm_env_info": EnvInfo,
    "mm_vec_config": VecConfig,
    "mm_vec_info": VecInfo,
    "mm_vec_out": VecOut,
    "mm_es_config": EsConfig,
    "mm_study_config": StudyConfig,
    "mm_study_machine": StudyMachine,
    "mm_study_progress": StudyProgress,
    "mm_study_cell": StudyCell,
    "mm_study_value": StudyValue,
    "mm_policy_info": PolicyInfo,
    "mm_policy_tensor": PolicyTensor,
    "mm_draw": Draw,
}

# ---------------------------------------------------------------------------------------------
# Functions: result, arguments. Of STATUS the result is an mm_status, and a failure is raised.

STATUS = object()
_out = c.POINTER(_pointer)  # of an object
_sizes, _doubles = c.POINTER(_size), c.POINTER(_double)
_array = c.POINTER(_double)

FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "mm_status_text": (_text, [_int]),
    "mm_last_error": (_text, []),
    "mm_version": (_text, []),
    "mm_build_info": (_text, []),
    "mm_isa_name": (_text, []),
    # maps
    "mm_map_kind_name": (_text, [_int]),
    "mm_map_open": (STATUS, [_text, _out]),
    "mm_map_create_tsallis": (STATUS, [_double, _out]),
    "mm_map_create_piecewise": (STATUS, [_pointer, _size, _out]),
    "mm_map_create_neural": (STATUS, [_pointer, _pointer, _pointer, _double, _double, _out]),
    "mm_map_create_powers": (STATUS, [_pointer, _pointer, _size, _out]),
    "mm_map_create_stages": (STATUS, [_out, _size, _out]),
    "mm_map_destroy": (None, [_pointer]),
    "mm_map_load": (STATUS, [_text, _out]),
    "mm_map_parse": (STATUS, [_text, _size, _text, _out]),
    "mm_map_save": (STATUS, [_pointer, _text, _text]),
    "mm_map_format": (STATUS, [_pointer, _text, c.POINTER(_pointer)]),
    "mm_map_text_free": (None, [_pointer]),
    "mm_map_get_kind": (_int, [_pointer]),
    "mm_map_tsallis_q": (_double, [_pointer]),
    "mm_map_piecewise_psi": (_array, [_pointer, _sizes]),
    "mm_map_neural_parameters": (
        None,
        [_pointer, c.POINTER(_array), c.POINTER(_array), c.POINTER(_array), _doubles, _doubles],
    ),
    "mm_map_powers_terms": (_size, [_pointer, c.POINTER(_array), c.POINTER(_array)]),
    "mm_map_stages": (_size, [_pointer]),
    "mm_map_stage": (_pointer, [_pointer, _size]),
    "mm_map_meta": (_text, [_pointer]),
    "mm_map_eta": (_double, [_pointer]),
    "mm_map_check": (None, [_pointer, c.POINTER(MapReport)]),
    "mm_map_phi": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_map_phi_inverse": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_map_h": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_map_bregman": (STATUS, [_pointer, _pointer, _pointer, _size, _doubles]),
    "mm_map_project_batch": (STATUS, [_pointer, _int, _pointer, _size, _size, _pointer, _pointer]),
    "mm_map_phi_f": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_map_phi_inverse_f": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_map_project_batch_f": (STATUS, [_pointer, _int, _pointer, _size, _size, _pointer, _pointer]),
    # environments
    "mm_env_open": (STATUS, [_text, _out]),
    "mm_env_destroy": (None, [_pointer]),
    "mm_env_list": (_bool, [_size, c.POINTER(EnvInfo)]),
    "mm_env_has_switches": (_bool, [_pointer]),
    "mm_vec_config_init": (None, [c.POINTER(VecConfig), _size]),
    "mm_vec_create": (STATUS, [_pointer, c.POINTER(VecConfig), _out]),
    "mm_vec_destroy": (None, [_pointer]),
    "mm_vec_describe": (None, [_pointer, c.POINTER(VecInfo)]),
    "mm_vec_obs_bounds": (None, [_pointer, _pointer, _pointer]),
    "mm_vec_action_bounds": (None, [_pointer, _pointer, _pointer]),
    "mm_vec_reset_where": (STATUS, [_pointer, _pointer, _pointer, c.POINTER(VecOut)]),
    # its result is looked at where it is called
    "mm_vec_step": (_int, [_pointer, _pointer, _pointer]),
    "mm_vec_state_size": (_size, [_pointer]),
    "mm_vec_save": (None, [_pointer, _pointer]),
    "mm_vec_load": (STATUS, [_pointer, _pointer, _size]),
    "mm_vec_observe": (None, [_pointer, _pointer]),
    "mm_vec_picture_size": (None, [_pointer, c.POINTER(_i32), c.POINTER(_i32)]),
    "mm_vec_render": (STATUS, [_pointer, _pointer, _size, _i32, _i32, _pointer]),
    # evolution strategies
    "mm_es_find": (STATUS, [_text, c.POINTER(_int)]),
    "mm_es_name": (_text, [_int]),
    "mm_es_config_init": (None, [c.POINTER(EsConfig), _size, _int]),
    "mm_es_create": (STATUS, [c.POINTER(EsConfig), _pointer, _out]),
    "mm_es_destroy": (None, [_pointer]),
    "mm_es_ask": (STATUS, [_pointer, _pointer]),
    "mm_es_tell": (STATUS, [_pointer, _pointer]),
    "mm_es_mean": (_array, [_pointer]),
    "mm_es_sigma": (_double, [_pointer]),
    "mm_es_generation": (_u64, [_pointer]),
    "mm_es_population": (_size, [_pointer]),
    "mm_es_restarts": (_u64, [_pointer]),
    "mm_es_evaluations": (_u64, [_pointer]),
    "mm_es_state_size": (_size, [_pointer]),
    "mm_es_save": (None, [_pointer, _pointer]),
    "mm_es_load": (STATUS, [c.POINTER(EsConfig), _pointer, _size, _out]),
    # studies
    "mm_study_config_init": (None, [c.POINTER(StudyConfig), _size, _int]),
    "mm_study_create": (STATUS, [_text, c.POINTER(StudyConfig), _out]),
    "mm_study_open": (STATUS, [_text, _out]),
    "mm_study_close": (None, [_pointer]),
    "mm_study_get_kind": (_int, [_pointer]),
    "mm_study_folder": (_text, [_pointer]),
    "mm_study_machine_init": (None, [c.POINTER(StudyMachine), _size]),
    # its result is looked at where it is called
    "mm_study_advance": (_int, [_pointer, c.POINTER(StudyMachine)]),
    "mm_study_done": (_bool, [_pointer]),
    "mm_study_look": (None, [_pointer, c.POINTER(StudyProgress)]),
    "mm_study_trouble": (_bool, [_pointer, _text]),
    "mm_study_end": (None, [_pointer, _text]),
    "mm_study_cells": (_size, [_pointer]),
    "mm_study_cell_at": (STATUS, [_pointer, _size, c.POINTER(StudyCell)]),
    "mm_study_map": (STATUS, [_pointer, _out]),
    "mm_study_setting": (STATUS, [_pointer, _text, _text]),
    "mm_study_rows": (STATUS, [_text, _text, SeeRow, _pointer]),
    # policies
    "mm_algo_name": (_text, [_int]),
    "mm_algo_has_map": (_bool, [_int]),
    "mm_policy_load": (STATUS, [_text, _out]),
    "mm_policy_destroy": (None, [_pointer]),
    "mm_policy_describe": (None, [_pointer, c.POINTER(PolicyInfo)]),
    "mm_policy_tensors": (_size, [_pointer]),
    "mm_policy_tensor_at": (STATUS, [_pointer, _size, c.POINTER(PolicyTensor)]),
    "mm_player_create": (STATUS, [_pointer, _size, _out]),
    "mm_player_destroy": (None, [_pointer]),
    "mm_player_probs": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_player_normal": (STATUS, [_pointer, _pointer, _size, _pointer, _pointer]),
    "mm_player_values": (STATUS, [_pointer, _pointer, _size, _pointer]),
    "mm_player_act": (STATUS, [_pointer, _pointer, _size, c.POINTER(Draw), _pointer]),
}

# ---------------------------------------------------------------------------------------------
# Finding it


def _places(tail: str) -> list[pathlib.Path]:
    """Where an installed package has a file: in its folder, or, installed as editable, in that of
    the installation."""
    places = [pathlib.Path(__file__).parent / tail]
    try:
        places.append(pathlib.Path(str(importlib.metadata.distribution("mirrormap").locate_file(f"mirrormap/{tail}"))))
    except importlib.metadata.PackageNotFoundError:
        pass
    return places


def _find() -> str:
    """$MIRRORMAP_LIBRARY, the package's own, or the one that the system has."""
    chosen = os.environ.get("MIRRORMAP_LIBRARY")
    if chosen:
        return chosen
    for place in _places("lib/libmirrormap.so"):
        if place.exists():
            return str(place)
    return "libmirrormap.so.0.1"


def _check_processor() -> None:
    """The library is made for processors with AVX2; others would end the process."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), None)
    except OSError:
        return
    if flags and not {"avx2", "fma", "bmi2"} <= set(flags):
        raise UnsupportedError("mirrormap needs a processor with AVX2, FMA and BMI2 (x86-64-v3)")


def _load() -> c.CDLL:
    _check_processor()
    path = _find()
    try:
        library = c.CDLL(path)
    except OSError as problem:
        raise ImportError(
            f"cannot load the library of mirrormap: {problem}. Install the package with pip, or name the "
            "library in MIRRORMAP_LIBRARY"
        ) from None
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: it is not the library of mirrormap {__version__}") from None
        function.argtypes = arguments
        function.restype = _int if result is STATUS else result
        if result is STATUS:
            function.errcheck = _check
    version = library.mm_version().decode()
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError(f"{path} is version {version}, and this package is made for {__version__}")
    return library


lib: Any = _load()


def default(struct: type[c.Structure], *of: int) -> Any:
    """A struct of settings as the library fills it in, e.g. default(EsConfig, kind)."""
    config = struct()
    name = next(name for name, each in STRUCTS.items() if each is struct)
    getattr(lib, f"{name}_init")(c.byref(config), c.sizeof(config), *of)
    return config


def path() -> pathlib.Path:
    """Where the library is that was loaded, also where the system found it."""
    name: str = lib._name
    if "/" not in name:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            name = next((line.split(maxsplit=5)[-1].strip() for line in file if f"/{name}" in line), name)
    return pathlib.Path(name).absolute()


def program() -> str | None:
    """The path of the program `mirrormap` that belongs to the library, if there is one."""
    library = path()
    places = _places("bin/mirrormap") + [library.parent / "mirrormap", library.parent.parent / "bin/mirrormap"]
    return next((str(place) for place in places if os.access(place, os.X_OK) and place.is_file()), None)


def data_files(folder: str, ending: str) -> list[str]:
    """Names of the files that come with the library (src/base/data_folder.h has the rule)."""
    beside = path().parent.parent
    chosen = os.environ.get("MIRRORMAP_DATA")
    places = [pathlib.Path(chosen)] if chosen else []
    places += [beside / "share/mirrormap", beside.parent / "share/mirrormap", beside]
    return sorted({file.stem for place in places for file in (place / folder).glob("[!.]*" + ending)})


# ---------------------------------------------------------------------------------------------
# Values that cross the boundary


def encode(text: str | os.PathLike[str]) -> bytes:
    """A name or path as bytes; the library's texts end at a zero."""
    data = os.fsencode(text)
    if b"\0" in data:
        raise InputError(f"{text!r}: a zero byte is no part of a name")
    return data


def texts(values: list[str]) -> tuple[Any, int]:
    """A list of texts, and how many."""
    return (_text * max(len(values), 1))(*[encode(value) for value in values]), len(values)


def setting_texts(settings: Mapping[str, object]) -> list[str]:
    """Settings as the library reads them: {"steps": 1e5, "anneal": False} -> steps=100000, anneal=off."""
    return [f"{key}={_setting(value)}" for key, value in settings.items()]


def _setting(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e18 else repr(number)
    if isinstance(value, (list, tuple)):
        return ",".join(_setting(part) for part in value)
    return str(value)


def doubles(values: Any, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A contiguous array of doubles."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError
        return np.ascontiguousarray(array, np.float64).reshape(array.shape)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected an array of real numbers, not {type(values).__name__}") from None

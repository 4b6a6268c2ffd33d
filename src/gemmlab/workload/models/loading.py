"""A model out of a Python file or a package, by its name, with what to call it."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from gemmlab.own_code import behind, file_module
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.workload.models.failures import shortened
from gemmlab.workload.models.inputs import parse_inputs
from gemmlab.workload.models.tracing import pytorch

FORM = "FILE.py:NAME or package.module:NAME, NAME being a module, its class, or a function that returns it"
GUARD = 'what is to run only as a program belongs under `if __name__ == "__main__":`'
NEEDS_INPUTS = "--inputs 1x3x224x224, or --inputs input_ids=8x512:int64 labels=8x512:int64; or `inputs` in the file"


class LoadedModel(msgspec.Struct, frozen=True):
    """A model, and what to call it with."""

    model: Any
    inputs: tuple[Any, ...]
    keywords: dict[str, Any]
    source: str


def load_model(
    place: str, inputs: str = "", *, arguments: Mapping[str, str] | None = None, config: str = "", dtype: str = ""
) -> LoadedModel:
    """The model that `FILE.py:NAME` or `package.module:NAME` means, built without memory for its weights.

    `inputs` describes its inputs as `parse_inputs` reads them; without it they are the file's own `inputs`, a value or
    a function, or what NAME gives beside the model. `arguments` are handed to the class or function, or to the
    configuration of a model of transformers, whose settings a JSON file `config` may give. `dtype` is what its weights
    are turned into. Runs the file. Raises GemmlabError.
    """
    pytorch()
    path, colon, name = place.rpartition(":")
    if not colon or not path or not name:
        raise GemmlabError(f"`{place}` names no model", FORM)
    with contextlib.redirect_stdout(sys.stderr):
        module = running(path, lambda: module_of(path))
        found = attribute(module, path, name)
        words = {key: literal(value) for key, value in (arguments or {}).items()}
        own = "settings that go together: --arguments NAME=VALUE ..., or --config FILE"
        hint = own if hasattr(found, "config_class") else ""
        model, given, named = parts(place, running(path, lambda: made(place, found, words, config), place, hint))
        if inputs:
            given, named = parse_inputs(inputs)
        elif given is None:
            given, named = own_inputs(place, path, module)
        if dtype:
            model = converted(model, dtype)
    return LoadedModel(model=model, inputs=given, keywords=named, source=place)


def module_of(path: str) -> ModuleType:
    """The file or package, imported; a file anew at each call."""
    if not path.endswith(".py"):
        try:
            with behind(Path.cwd()):  # what is installed comes first
                return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is None or not (path == error.name or path.startswith(f"{error.name}.")):
                raise  # it is there, and misses another
            raise GemmlabError(
                f"there is no package `{path}` here",
                f"pip install {path.partition('.')[0]}, or {path.replace('.', '/')}.py:NAME",
            ) from error
    return file_module(Path(path), "gemmlab_model_of", FORM)


def running(path: str, make: Any, what: str = "", hint: str = "") -> Any:
    """What the user's code returns, its weights without memory; raises GemmlabError where it fails or leaves.

    `what` fails then, the file itself unless it is given, and `hint` is the remedy.
    """
    from gemmlab.workload.models.building import built

    try:
        return built(make)
    except GemmlabError:
        raise
    except (Exception, SystemExit) as error:
        hint = GUARD if isinstance(error, SystemExit) else hint or remedy(error, path)
        raise GemmlabError(f"{what or path} fails: {where(error, path)}", hint) from error


def remedy(error: BaseException, path: str) -> str:
    """What to do about a failing file."""
    if isinstance(error, ModuleNotFoundError):
        return f"pip install {error.name}" if error.name else ""
    return f"`python {path}` shows where" if path.endswith(".py") else f"`python -c 'import {path}'` shows where"


def where(error: BaseException, path: str) -> str:
    """What went wrong, and at which line of the file."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if path.endswith(".py") and Path(frame.filename) == Path(path).resolve():
            line = frame.lineno
    told = f"{type(error).__name__}: {shortened(text)}".rstrip(": ")
    return f"line {line}: {told}" if line else told


def attribute(module: ModuleType, path: str, name: str) -> Any:
    """What a module has by that name, dots for what lies in a class; raises GemmlabError with the nearest names."""
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise unknown_name(f"model in {path}", name, candidates(module))
        found = getattr(found, part)
    return found


def candidates(module: ModuleType) -> list[str]:
    """Names of a module that may be models, its own first of all."""
    import torch

    names = [name for name in dir(module) if not name.startswith("_")]
    try:
        values = {name: getattr(module, name) for name in names[:2000] if len(names) < 500}
    except Exception:
        return names
    models = [
        name
        for name, value in values.items()
        if isinstance(value, torch.nn.Module)
        or (inspect.isclass(value) and issubclass(value, torch.nn.Module))
        or (inspect.isfunction(value) and value.__module__ == module.__name__)
    ]
    return models or names


def literal(text: str) -> Any:
    """An argument's value: a Python literal, else the text itself."""
    lower = {"true": True, "false": False, "none": None}
    if text.lower() in lower:
        return lower[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def made(place: str, found: Any, arguments: dict[str, Any], config: str) -> Any:
    """The model that a name holds, or that a class or function makes."""
    import torch

    settings = getattr(found, "config_class", None)
    if settings is not None and callable(found) and not isinstance(found, torch.nn.Module):
        return found(configured(place, found, arguments, config))
    if config:
        raise GemmlabError(f"`{place}` takes no configuration", "--config is for models of transformers")
    if isinstance(found, torch.nn.Module) or not callable(found):
        if arguments:
            raise GemmlabError(f"`{place}` is no class and no function: it takes no arguments", FORM)
        return found
    try:
        inspect.signature(found).bind(**arguments)
    except TypeError as error:
        raise GemmlabError(f"`{place}` does not take these arguments: {error}", signature_of(found)) from error
    except ValueError:
        pass  # a builtin that does not say what it takes
    return found(**arguments)


def signature_of(found: Any) -> str:
    """What a class or function takes, as a hint."""
    names = ", ".join(inspect.signature(found).parameters)
    return f"--arguments NAME=VALUE; it takes: {names}" if names else "it takes none"


def configured(place: str, model: Any, arguments: dict[str, Any], config: str) -> Any:
    """A configuration of transformers: from a file, changed by arguments, else its defaults."""
    if config and not Path(config).is_file():
        raise GemmlabError(
            f"there is no file `{config}`", "a config.json of the model; or its settings, --arguments hidden_size=1024"
        )
    kind = model.config_class
    known = {name for name in settings_of(kind) if not name.startswith("_")} - {"self", "args", "kwargs"}
    unknown = [name for name in arguments if name not in known and not reads(model, name)]
    if unknown:
        raise unknown_name(f"setting of {place}", unknown[0], known)
    settings = kind.from_json_file(config) if config else kind(**arguments)
    for name, value in arguments.items() if config else ():
        setattr(settings, name, value)
    return settings


def reads(model: Any, setting: str) -> bool:
    """Whether a model's own code names a setting that its configuration does not list."""
    try:
        source = inspect.getsource(sys.modules[model.__module__])
    except (OSError, TypeError, KeyError):
        return False
    return f'"{setting}"' in source or f"config.{setting}" in source


def settings_of(kind: Any) -> Iterator[str]:
    """Names that a configuration of transformers goes by."""
    yield from vars(kind())
    yield from getattr(kind, "attribute_map", {})
    for each in kind.__mro__[:-1]:
        yield from inspect.signature(each.__init__).parameters
        yield from vars(each).get("__annotations__", {})


def parts(place: str, found: Any) -> tuple[Any, Any, dict[str, Any]]:
    """A model, and the inputs beside it: None where there are none."""
    import torch

    model, rest = (found[0], found[1:]) if isinstance(found, tuple | list) and found else (found, ())
    if not isinstance(model, torch.nn.Module):
        hint = "; a class is one of torch.nn.Module's, a function returns one" if inspect.isclass(found) else ""
        raise GemmlabError(f"`{place}` is of type {type(model).__name__}, and no torch.nn.Module", FORM + hint)
    if not rest:
        return model, None, {}
    given, named = arguments_of(rest[0])
    if len(rest) > 1:
        named = {**named, **dict(rest[1])}
    return model, given, named


def arguments_of(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs as a file gives them: a tensor, several, a dictionary by name, or a text."""
    if isinstance(value, str):
        return parse_inputs(value)
    if isinstance(value, Mapping):
        return (), dict(value)
    return (tuple(value) if isinstance(value, tuple | list) else (value,)), {}


def own_inputs(place: str, path: str, module: ModuleType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the file's `inputs` says, a value or a function."""
    value = getattr(module, "inputs", None) if path.endswith(".py") else None
    if value is None:
        raise GemmlabError(f"nothing says what `{place}` is called with", NEEDS_INPUTS)
    if callable(value):
        value = running(path, value)
    return arguments_of(value)


def converted(model: Any, dtype: str) -> Any:
    """The model with floating weights of another format."""
    import torch

    known = ("float64", "float32", "float16", "bfloat16")
    if dtype not in known:
        raise unknown_name("format of weights", dtype, known)
    return model.to(getattr(torch, dtype))

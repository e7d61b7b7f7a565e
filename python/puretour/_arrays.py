"""Turns what users pass into arrays that the C++ library takes, or into one InputError that says what is wrong.

Shapes by letters: B instances, N nodes, S tours per instance.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any, Callable, Optional

import numpy as np
import numpy.typing as npt

from ._core import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_NODES = 100_000_000
MAX_COORDINATE = 1e100  # squares of differences stay finite
MAX_THREADS = 1024


def is_torch(value: object) -> bool:
    """Whether this is a tensor of PyTorch, which is never imported here."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def like(*inputs: object) -> Callable[[Any], Any]:
    """What turns a result into a tensor on the device of the first tensor among the inputs, or leaves it an array."""
    for value in inputs:
        if is_torch(value):
            torch = sys.modules["torch"]
            device = value.device  # type: ignore[attr-defined]
            return lambda array: torch.as_tensor(array).to(device)
    return lambda array: array


def shape_text(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _to_numpy(value: Any, name: str, wanted: str) -> npt.NDArray[Any]:
    try:
        if is_torch(value):
            torch = sys.modules["torch"]
            value = value.detach().cpu()
            if value.dtype == torch.bfloat16:
                value = value.float()
            return np.asarray(value.numpy())
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.asarray(np.from_dlpack(value))
        return np.asarray(value)
    except InputError:
        raise
    except Exception as error:  # ragged lists, strange objects, tensors of other devices
        raise InputError(f"{name} is no array ({type(error).__name__}: {error}); wanted: {wanted}") from None


def floats(value: Any, name: str, wanted: str) -> Floats:
    """Contiguous finite doubles of any shape; copies only if they are not that already."""
    array = _to_numpy(value, name, wanted)
    if array.dtype.kind not in "fiu":
        raise InputError(
            f"{name} has dtype {array.dtype} and shape {shape_text(array.shape)}; wanted: numbers, {wanted}"
        )
    result: Floats = np.require(array, np.float64, ["C", "A"])
    if not np.isfinite(result).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise InputError(
            f"{name} has shape {shape_text(array.shape)} and holds {result[index]} at {index}; wanted: {wanted}, finite"
        )
    if result.size > 0 and max(result.max(), -result.min()) > MAX_COORDINATE:
        raise InputError(
            f"{name} has shape {shape_text(array.shape)} and values from {result.min()} to {result.max()}; "
            f"wanted: {wanted}, within {MAX_COORDINATE:g}"
        )
    return result


def integers(value: Any, name: str, wanted: str) -> Integers:
    """Contiguous 64-bit integers of any shape."""
    array = _to_numpy(value, name, wanted)
    if array.size == 0 and array.dtype == np.float64:
        array = array.astype(np.int64)  # what NumPy makes of an empty list
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{name} has dtype {array.dtype} and shape {shape_text(array.shape)}; wanted: integers, {wanted}"
        )
    if array.dtype == np.uint64 and array.size > 0 and int(array.max()) > MAX_NODES:
        raise InputError(f"{name} holds {int(array.max())}; wanted: {wanted}")
    result: Integers = np.require(array, np.int64, ["C", "A"])
    return result


def points(value: Any, wanted: str = "(N, 2) or (B, N, 2)", batch: Optional[bool] = None) -> Floats:
    """Coordinates with at least one node: (N, 2), (B, N, 2), or only one of them."""
    array = floats(value, "points", wanted)
    dimensions = (2, 3) if batch is None else (3,) if batch else (2,)
    if array.ndim not in dimensions or array.shape[-1] != 2 or array.shape[-2] == 0:
        raise InputError(f"points has shape {shape_text(array.shape)}; wanted: {wanted}, at least one node")
    return array


def points_and_tours(
    points_value: Any, tours_value: Any, name: str = "tours", least_nodes: int = 1
) -> tuple[Floats, Integers]:
    """Points (N, 2) with tours (N,) or (S, N), or points (B, N, 2) with tours (B, N) or (B, S, N)."""
    array = points(points_value)
    nodes = array.shape[-2]
    wanted = f"({nodes},) or (S, {nodes})" if array.ndim == 2 else f"({len(array)}, {nodes}) or ({len(array)}, S, {nodes})"
    wanted += f" for points of shape {shape_text(array.shape)}"
    tours = integers(tours_value, name, wanted)
    fits = tours.ndim in (array.ndim - 1, array.ndim) and tours.shape[-1] == nodes
    if not fits or (array.ndim == 3 and tours.shape[0] != array.shape[0]):
        raise InputError(f"{name} has shape {shape_text(tours.shape)}; wanted: {wanted}")
    if nodes < least_nodes:
        raise InputError(f"points has shape {shape_text(array.shape)}; wanted: at least {least_nodes} nodes")
    return array, tours


def integer(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in low .. high."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}; wanted: a whole number of {low} .. {high}") from None
    if not low <= number <= high:
        raise InputError(f"{name} is {number}; wanted: a whole number of {low} .. {high}")
    return number


def real(value: Any, name: str, low: float, high: float = math.inf, wanted: Optional[str] = None) -> float:
    """A number with low <= number <= high."""
    text = wanted or f"a number of {low} .. {high}"
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}; wanted: {text}") from None
    if not low <= number <= high:
        raise InputError(f"{name} is {number}; wanted: {text}")
    return number


def boolean(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}; wanted: True or False")
    return bool(value)


def text(value: Any, name: str, choices: Optional[tuple[str, ...]] = None) -> str:
    wanted = "one of: " + ", ".join(choices) if choices else "text"
    if not isinstance(value, str) or (choices and value not in choices):
        raise InputError(f"{name} is {value!r}; wanted: {wanted}")
    return value


def seed(value: Any) -> int:
    return integer(value, "seed", 0, 2**64 - 1)


def threads(value: Any) -> int:
    """0 is one for every core that this process may use."""
    return integer(value, "threads", 0, MAX_THREADS)


def time_limit(value: Any) -> Optional[float]:
    if value is None:
        return None
    return real(value, "time_limit", 1e-9, wanted="seconds above 0, or None")


def callback(value: Any, name: str) -> Any:
    if value is not None and not callable(value):
        raise InputError(f"{name} is {value!r}; wanted: a function, or None")
    return value

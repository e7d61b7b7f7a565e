"""Trained networks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, Union

from . import _arrays, _core
from ._core import InputError
from ._instances import _tour, as_instance
from ._results import Result, Rollout
from ._solve import Progress, as_result, search_callback

_PACKAGED = Path(__file__).parent / "models"
_SUFFIX = ".safetensors"


def models() -> list[str]:
    """The names of the networks that come with the package.

    >>> import puretour
    >>> "am50-pupo" in puretour.models()
    True
    """
    return sorted(path.name[: -len(_SUFFIX)] for path in _PACKAGED.glob("*" + _SUFFIX))


class Model:
    """A trained network: the attention model, Pointerformer or INViT. Made by ``load_model``; safe to use by threads."""

    def __init__(self, name: str, core: _core.Model) -> None:
        self._core = core
        self.name = name

    @property
    def architecture(self) -> str:
        """ "am", "pointerformer" or "invit"."""
        return self._core.architecture

    @property
    def config(self) -> dict[str, Any]:
        """Sizes and constants of the network."""
        result: dict[str, Any] = json.loads(self._core.config)
        return result

    @property
    def num_parameters(self) -> int:
        """Parameters that training changes."""
        return self._core.num_parameters

    @property
    def notes(self) -> dict[str, str]:
        """Where the network comes from: training, data, licence, ..."""
        return dict(self._core.notes)

    def __repr__(self) -> str:
        return f"<puretour.Model {self.name}: {self.architecture}, {self.num_parameters} parameters>"

    def solve(
        self,
        problem: Any,
        *,
        decode: str = "greedy",
        augment: Union[int, str] = 1,
        temperature: float = 1,
        improve: bool = False,
        precision: str = "float32",
        raw_coordinates: bool = False,
        threads: int = 0,
        time_limit: Optional[float] = None,
        seed: int = 0,
        initial: Any = None,
        bound: bool = False,
        progress: Progress = None,
    ) -> Result:
        """The best tour that the network builds.

        Args:
            problem: coordinates (N, 2), an ``Instance`` with coordinates, or the path of a file.
            decode: "greedy", "sample:K" (best of K random tours), "multistart" or "multistart:K" (best of K starts).
            augment: best over copies of the instance: 8 (symmetries) or "mix:K" (random).
            temperature: of sampling.
            improve: run the local search on the network's tour.
            precision: "float32" or "bfloat16".
            raw_coordinates: show the network the coordinates as they are, not scaled to the unit square.
            time_limit, seed, initial, bound, progress: as for ``puretour.solve``.

        >>> import puretour
        >>> puretour.load_model("am50-pupo").solve(puretour.generate("uniform", 50, seed=1)).method
        'am greedy'
        """
        made = as_instance(problem)
        if isinstance(augment, str):
            copies = augment
        else:
            copies = str(_arrays.integer(augment, "augment", 1, 8))
        start = None if initial is None else _tour(initial, len(made), "initial")
        callback, close = search_callback(progress)
        try:
            fields = self._core.solve(
                made,
                _arrays.text(decode, "decode"),
                copies,
                _positive(temperature, "temperature"),
                _arrays.boolean(improve, "improve"),
                _arrays.text(precision, "precision", ("float32", "bfloat16")),
                _arrays.boolean(raw_coordinates, "raw_coordinates"),
                _arrays.threads(threads),
                _arrays.time_limit(time_limit),
                _arrays.seed(seed),
                start,
                _arrays.boolean(bound, "bound"),
                callback,
            )
        finally:
            close()
        return as_result(fields, made, problem)

    def rollout(
        self,
        points: Any,
        *,
        sample: bool = False,
        num_tours: Optional[int] = None,
        temperature: float = 1,
        seed: int = 0,
        raw_coordinates: bool = False,
        threads: int = 0,
    ) -> Rollout:
        """Tours of the network, with the log-probability of every step.

        Args:
            points: (N, 2) or (B, N, 2).
            sample: draw every node at random; else take the most probable one.
            num_tours: S tours of each instance; None: one, without a dimension for it.
            temperature: of sampling. Log-probabilities are always those of temperature 1.

        Returns:
            ``Rollout(tours, log_probs)``: (N,), (S, N), (B, N) or (B, S, N). No gradients.

        >>> import puretour
        >>> model = puretour.load_model("am50-pupo")
        >>> model.rollout(puretour.generate("uniform", 20, count=3), sample=True, num_tours=5).tours.shape
        (3, 5, 20)
        """
        array = _arrays.points(points)
        each = 1 if num_tours is None else _arrays.integer(num_tours, "num_tours", 1, 1_000_000)
        tours, log_probs = self._core.rollout(
            array[None] if array.ndim == 2 else array,
            each,
            _arrays.boolean(sample, "sample"),
            _positive(temperature, "temperature"),
            _arrays.seed(seed),
            _arrays.boolean(raw_coordinates, "raw_coordinates"),
            _arrays.threads(threads),
        )
        shape = array.shape[:-2] + (() if num_tours is None else (each,)) + (array.shape[-2],)
        convert = _arrays.like(points)
        return Rollout(convert(tours.reshape(shape)), convert(log_probs.reshape(shape)))

    def log_prob(
        self, points: Any, tours: Any, *, per_step: bool = False, raw_coordinates: bool = False, threads: int = 0
    ) -> Any:
        """The log-probability with which the network builds given tours, from their first node on.

        Args:
            points: (N, 2) or (B, N, 2).
            tours: (N,) or (S, N) for one instance; (B, N) or (B, S, N) for a batch.
            per_step: log-probabilities of all steps instead of their sum.

        Returns:
            A float for one tour, else float64 of the shape of the batch; with ``per_step`` the shape of ``tours``.
            No gradients.
        """
        array, orders = _arrays.points_and_tours(points, tours)
        steps = self._core.log_probs(
            array, orders, _arrays.boolean(raw_coordinates, "raw_coordinates"), _arrays.threads(threads)
        )
        convert = _arrays.like(points, tours)
        if _arrays.boolean(per_step, "per_step"):
            return convert(steps)
        total = steps.sum(axis=-1)
        return convert(total) if orders.ndim > 1 else float(total)


def _positive(value: Any, name: str) -> float:
    return _arrays.real(value, name, 1e-9, 1e9, "a number above 0")


def load_model(name_or_path: Union[str, os.PathLike[str]]) -> Model:
    """A trained network: by name if it comes with the package (see ``models()``), else from a .safetensors file.

    >>> import puretour
    >>> puretour.load_model("am50-pupo").architecture
    'am'
    """
    try:
        path = Path(name_or_path)
        exists = path.exists()
    except (TypeError, ValueError, OSError):
        raise InputError(f"name_or_path is {name_or_path!r}; wanted: the name of a network or a path") from None
    if isinstance(name_or_path, str) and name_or_path in models():
        path = _PACKAGED / (name_or_path + _SUFFIX)
    elif not exists or path.is_dir():
        known = ", ".join(models()) or "none"
        raise InputError(f"there is no network {str(name_or_path)!r}; wanted: a .safetensors file, or one of: {known}")
    name = path.name[: -len(_SUFFIX)] if path.name.endswith(_SUFFIX) else path.name
    return Model(name, _core.Model(str(path)))

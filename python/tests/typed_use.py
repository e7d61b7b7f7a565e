"""Checked by mypy --strict, never run: how a typed program uses the package."""

from __future__ import annotations

from typing import Optional

import numpy as np

import puretour


def report(path: str) -> str:
    result: puretour.Result = puretour.solve(path, time_limit=1.0, bound=True, progress=lambda phase, length: None)
    gap: Optional[float] = result.gap
    sample: puretour.Sample = puretour.read(path)[0]
    length: float = sample.instance.distance(0, 1) + result.length
    return f"{result.method} {length} {gap} {result.seconds:.2f}"


def labels(count: int) -> int:
    many: puretour.ManyResult = puretour.solve_many(puretour.generate("uniform", 50, count), threads=2)
    purity = puretour.purity(np.zeros((3, 2)), [0, 1, 2])
    fit: puretour.LawFit = puretour.law_fit(purity)
    model: puretour.Model = puretour.load_model("am50-pupo")
    tours, log_probs = model.rollout(np.zeros((5, 2)), sample=True)
    edges, orders = puretour.gabriel_graph(np.zeros((5, 2)), max_order=1)
    try:
        puretour.solve(np.zeros((5, 2)), model=model)
    except puretour.InputError as error:
        print(error, fit.alpha + fit.beta, tours, log_probs, edges, orders)
    return len(many.tours)

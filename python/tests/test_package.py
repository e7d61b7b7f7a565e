"""The package as such: names, types, pictures, the command."""

import doctest
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import puretour

ROOT = Path(__file__).parents[2]


def test_version_and_command():
    assert puretour.__version__ == puretour._core.build_info()["version"]
    command = [sys.executable, "-m", "puretour", "--version"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == puretour.__version__
    bad = subprocess.run([sys.executable, "-m", "puretour", "fly"], capture_output=True, text=True)
    assert bad.returncode == 2 and "unknown verb" in bad.stderr


def test_show_versions(capsys):
    puretour.show_versions()
    printed = capsys.readouterr().out
    for word in ("version", "commit", "instructions", "python", "numpy", "torch"):
        assert word in printed


def test_all_names_exist_and_have_documentation():
    for name in puretour.__all__:
        value = getattr(puretour, name)
        assert name == "__version__" or (value.__doc__ and len(value.__doc__) > 20), name
    functions = [f for f in vars(puretour).values() if type(f).__name__ == "function"]
    without = {f.__name__ for f in functions if ">>>" not in f.__doc__}
    assert without == {"read_tour", "write_tour", "write", "show_versions"}


@pytest.mark.parametrize("module", ["", "._instances", "._models", "._purity", "._results", "._solve"])
def test_examples_of_the_documentation(module):
    loaded = importlib.import_module("puretour" + module)
    failed, tried = doctest.testmod(loaded)
    assert failed == 0 and tried > 0


def test_pictures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    points = puretour.generate("uniform", 100, seed=1)
    result = puretour.solve(points)
    purity = puretour.purity(points, result.tour)
    for number, thing in enumerate((result, purity, puretour.law_fit(purity))):
        file = tmp_path / f"{number}.png"
        thing.plot().figure.savefig(file)
        assert file.stat().st_size > 5000
    with pytest.raises(puretour.InputError, match="coordinates"):
        puretour.solve(distance_matrix=[[0, 1], [1, 0]]).plot()


def test_progress_bars():
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    assert puretour.solve(puretour.generate("uniform", 300), progress=True).length > 0
    assert len(puretour.solve_many(puretour.generate("uniform", 20, 100), progress=True).lengths) == 100


def test_types(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    files = [str(Path(__file__).parent / "typed_use.py")]
    if importlib.util.find_spec("torch") is not None:
        files.append(str(ROOT / "python" / "examples" / "pupo_in_reinforce.py"))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *files]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_examples_of_the_guide():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    guide = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    names = {}
    for block in blocks:
        if "model(points)" not in block:  # part of the example that test_torch.py runs
            exec(block.replace("10_000", "100"), names)  # noqa: S102
    assert len(blocks) == 4
    assert names["targets"].shape == (100,)
    assert f"# {puretour.solve(puretour.generate('uniform', nodes=150, seed=1)).length} eax" in guide

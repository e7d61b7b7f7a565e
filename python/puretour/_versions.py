"""What this package is and runs on, for bug reports."""

from __future__ import annotations

import platform
from importlib import metadata

from . import _core

__version__: str = str(_core.build_info()["version"])


def show_versions() -> None:
    """Prints the version of the package, of what it runs on, and of packages that it works with."""
    for key, value in _core.build_info().items():
        print(f"{key:13} {value}")
    print(f"{'python':13} {platform.python_version()} ({platform.platform()})")
    for name in ("numpy", "matplotlib", "tqdm", "torch"):
        try:
            print(f"{name:13} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name:13} not installed")

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_report_header(config):
    """One line that says what this run leaves out."""
    missing = []
    for name in ("torch", "matplotlib", "tqdm", "mypy"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    return f"puretour tests; not installed, so its tests are skipped: {', '.join(missing) or 'nothing'}"

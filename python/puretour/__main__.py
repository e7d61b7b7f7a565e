"""The command ``puretour``: runs the program that comes with the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "puretour"
    if not program.exists():
        sys.exit("puretour: this package was built without the command")
    os.execv(program, ["puretour", *sys.argv[1:]])


if __name__ == "__main__":
    main()

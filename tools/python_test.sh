#!/usr/bin/env bash
# Builds the Python package with the Python that is there, installs it into build/python/venv and runs its tests.
# Without Python, venv, or the network for the first download of NumPy and the build tools, it says so and ends with
# status 0 (77 with --strict). PURETOUR_PYTHON names another interpreter.
# SPDX-License-Identifier: MIT
set -euo pipefail
root="$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")"
cd -- "$root"
# shellcheck source=tools/setup.sh
source tools/setup.sh

python="${PURETOUR_PYTHON:-python3}"
venv="$root/build/python/venv"
needed="numpy pytest pybind11 scikit_build_core"
status_of_skip=0
[[ "${1:-}" != --strict ]] || status_of_skip=77

skip() {
  echo "Python package: SKIPPED, $1"
  exit "$status_of_skip"
}

has() {
  "$venv/bin/python" -c "import $1" 2>/dev/null
}

command -v "$python" >/dev/null || skip "there is no $python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "$python is older than 3.9"
headers="$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')"
[[ -f "$headers/Python.h" ]] || skip "$python has no headers (Debian: python3-dev)"
mkdir -p build/python
if [[ ! -x "$venv/bin/pip" ]]; then
  rm -rf "$venv"
  "$python" -m venv "$venv" >build/python-venv.log 2>&1 || skip "$python cannot make a venv (Debian: python3-venv)"
fi
if ! has "${needed// /, }"; then
  # shellcheck disable=SC2086  # a list of names
  "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 "pip>=22.1" $needed >build/python-pip.log 2>&1 ||
    skip "pip cannot install $needed (no network? see build/python-pip.log)"
fi
# Nice to have; the tests that need them are skipped without.
has matplotlib ||
  "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 matplotlib tqdm mypy >build/python-pip.log 2>&1 || true

# With the flags of the release build a compiler cache has everything but the bindings. The released wheel differs in
# PURETOUR_BUNDLE only.
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
step "Build the Python package" python-build.log "$venv/bin/pip" install --disable-pip-version-check --no-deps \
  --no-build-isolation --force-reinstall --config-settings=build-dir=build/python/test \
  --config-settings=cmake.define.PURETOUR_BUNDLE=OFF --config-settings=cmake.define.PURETOUR_WERROR=ON .
step "Test the Python package" python-test.log "$venv/bin/python" -X faulthandler -m pytest -q -rs \
  -p no:cacheprovider python/tests
absent=""
for package in torch matplotlib tqdm mypy; do
  has "$package" || absent+="${absent:+, }$package"
done
echo "Python package: $(tail -n 1 build/python-test.log | tr -d =)${absent:+; tests that need $absent were skipped (not installed)}"

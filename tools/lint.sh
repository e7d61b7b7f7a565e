#!/usr/bin/env bash
# Checks the sources without running them: lint.sh [format] [layers] [shell] [types] [tidy], all five by default.
# A check whose tool is not installed is skipped; asked for alone, it ends with status 77.
# SPDX-License-Identifier: MIT
set -euo pipefail
root="$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
cd -- "$root"
skipped=77

need() {
  command -v "$1" >/dev/null && return
  echo "skipped: $1 is not installed"
  exit "$skipped"
}

check_format() {
  need clang-format
  find src tests bench python -name '*.cpp' -print0 -o -name '*.h' -print0 | xargs -0 clang-format --dry-run -Werror
}

check_shell() {
  need shellcheck
  find run test .ci/run tools tests -name '*.sh' -print0 -o -path run -print0 -o -path test -print0 \
    -o -path .ci/run -print0 | xargs -0 shellcheck --external-sources
}

# Only src/: the macros of GoogleTest make clang-tidy several times slower and most of its findings are theirs. Not nn/,
# train/ and their command: clang does not compile the headers of LibTorch 1.13 as C++20, and needs two minutes for each file.
check_tidy() {
  need clang-tidy
  local database=build/release/compile_commands.json
  [[ -f $database ]] || { echo "error: $database is missing; run: cmake --preset release" >&2; exit 1; }
  # A file that was clean before, with the same rules and the same headers of its own, is not checked again.
  mkdir -p build/tidy
  local rules
  rules=$({ clang-tidy --version; cat .clang-tidy; } | sha256sum)
  # One process per file; the output of a file stays together and a clean file prints nothing.
  # shellcheck disable=SC2016  # expanded by the inner shell
  find src -name '*.cpp' -not -path '*/nn/*' -not -path '*/train/*' -not -name train_main.cpp -print0 | xargs -0 -n 1 -P "$(nproc)" bash -c '
    sources=$(c++ -std=c++20 -MM -MG -Isrc "$1" | tr -d "\\\\" | cut -d: -f2-) || exit 1
    clean=build/tidy/$({ echo "$0"; cat -- $sources 2>/dev/null; } | sha256sum | cut -c -64)
    [[ -e $clean ]] && exit
    output=$(clang-tidy -p build/release --quiet "$1" 2>&1) || { printf "%s\n" "$output"; exit 1; }
    touch -- "$clean"' "$rules"
}

# esbuild only strips the types of the report's script.
check_types() {
  need tsc
  tsc --project web
}

run_check() {
  case "$1" in
    format) check_format ;;
    layers) tools/check_layers.sh ;;
    shell) check_shell ;;
    types) check_types ;;
    tidy) check_tidy ;;
    *)
      echo "error: unknown check '$1'; choose from: format, layers, shell, types, tidy" >&2
      exit 2 ;;
  esac
}

(($#)) || set -- format layers shell types tidy
if (($# == 1)); then
  run_check "$1"
  exit
fi
failed=0
for check in "$@"; do
  status=0
  (run_check "$check") || status=$?
  if ((status != 0 && status != skipped)); then
    echo "lint: $check FAILED"
    failed=1
  fi
done
exit $failed

#!/usr/bin/env bash
# ThreadSanitizer over what runs on several threads: loops over instances, evaluation, roll-outs, training. Not part of
# ./test: its build takes minutes of its own.
# SPDX-License-Identifier: MIT
set -euo pipefail
root="$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")"
cd -- "$root"
source tools/setup.sh

install_packages "${PURETOUR_RUN_PACKAGES[@]}" "${PURETOUR_TEST_PACKAGES[@]}"
configure threads
build threads base_test evaluate_test nn_test train_test
# The plain path: vector code does the same between threads, and ThreadSanitizer sees every access of this one.
export PURETOUR_ISA=plain TSAN_OPTIONS="halt_on_error=1 exitcode=66"
echo "Test build/threads"
ctest --test-dir build/threads --output-on-failure --parallel "${CTEST_PARALLEL_LEVEL:-$(nproc)}" \
  -R '^sanitized\.(base|evaluate|train):|BatchGroup' -E 'train:Train\.|ShippedModels'

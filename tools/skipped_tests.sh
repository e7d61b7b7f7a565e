#!/usr/bin/env bash
# Says in one line how many tests of the last run of ctest were skipped, and why: skipped_tests.sh BUILD_FOLDER.
# SPDX-License-Identifier: MIT
set -euo pipefail
log="${1:?usage: skipped_tests.sh BUILD_FOLDER}/Testing/Temporary/LastTest.log"
[[ -f $log ]] || exit 0
# GoogleTest prints "FILE:LINE: Skipped" and the reason on the next line. Paths differ between machines, reasons do not.
awk '
  reason_next { reason_next = 0; sub(/ (in )?"?\/.*/, ""); count[$0]++; total++ }
  /: Skipped$/ { reason_next = 1 }
  END {
    if (total == 0) { print "No test was skipped."; exit }
    line = total (total == 1 ? " test" : " tests") " skipped:"
    for (reason in count) { line = line separator " " reason " (" count[reason] ")"; separator = "," }
    print line
  }' "$log"

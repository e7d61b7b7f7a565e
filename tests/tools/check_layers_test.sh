#!/usr/bin/env bash
# The layer check accepts a downward include and refuses each kind of forbidden one.
# SPDX-License-Identifier: MIT
set -euo pipefail
check="$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../../tools/check_layers.sh"
directory="$(mktemp -d)"
trap 'rm -rf -- "$directory"' EXIT

# expect STATUS ROOM INCLUDE MESSAGE
expect() {
  local status=0 output
  rm -rf -- "$directory/puretour"
  mkdir -p -- "$directory/puretour/$2"
  printf '#pragma once\n#include %s\n' "$3" >"$directory/puretour/$2/file.h"
  output="$("$check" "$directory")" || status=$?
  [[ $status == "$1" && $output == *"$4"* ]] && return
  echo "$2/ with #include $3: expected status $1 and '$4', got status $status and '$output'"
  exit 1
}

expect 0 tour '"puretour/base/error.h"' ''
expect 0 tour '"puretour/tour/metric.h"' ''
expect 0 tour '<vector>' ''
expect 0 nn '<torch/torch.h>' ''
expect 0 cli '"puretour/train/trainer.h"' ''
expect 1 geometry '"puretour/tour/tour.h"' 'src/puretour/geometry/file.h:2: geometry/ must not know tour/'
expect 1 purity '"puretour/generate/generate.h"' 'purity/ must not know generate/'
expect 1 solve '<torch/torch.h>' 'Torch is for nn/ and train/ only'
expect 1 report '"puretour/nn/model.h"' 'report/ must build without Torch'
expect 1 tour '"metric.h"' 'include "metric.h" as "puretour/<room>/<file>"'
expect 1 garage '"puretour/base/error.h"' 'unknown room "garage"'
expect 0 kernels/layers '"puretour/kernels/gemm/matrix.h"' ''
expect 1 kernels/gemm '"puretour/kernels/layers/encoder.h"' 'kernels/gemm/ must not know kernels/layers/'
expect 1 kernels/other '"puretour/kernels/gemm/matrix.h"' 'lies in one of its strata'

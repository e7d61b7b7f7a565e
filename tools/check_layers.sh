#!/usr/bin/env bash
# Checks that includes between the rooms of src/puretour point downwards only: check_layers.sh [SOURCE_DIRECTORY].
# SPDX-License-Identifier: MIT
set -euo pipefail
sources="${1:-"$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../src"}"
cd -- "$sources"

grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.h' --include='*.cpp' puretour | awk -F: '
  BEGIN {
    # A room may include itself and rooms of a lower level; rooms of one level do not know each other.
    split("base geometry tour generate,purity solve law,kernels,models infer nn,evaluate train,report cli", levels, " ")
    for (level in levels) {
      count = split(levels[level], rooms, ",")
      for (i = 1; i <= count; ++i) level_of[rooms[i]] = level + 0
    }
    # The strata of kernels/, lowest first: each may include those before it.
    count = split("simd gemm layers decode", strata, " ")
    for (i = 1; i <= count; ++i) stratum_level[strata[i]] = i
    # Everything else must build, link and run without Torch.
    split("nn train", list, " ")
    for (i in list) torch_room[list[i]] = 1
  }
  function fail(why) {
    printf "src/%s:%s: %s\n", $1, $2, why
    bad = 1
  }
  {
    split($1, path, "/")
    room = path[2]
    if (!(room in level_of)) {
      fail("unknown room \"" room "\"; give it a level in tools/check_layers.sh")
      next
    }
    directive = $0
    sub(/^[^:]*:[^:]*:/, "", directive)
    if (directive ~ /<(torch|ATen|c10)\//) {
      if (!(room in torch_room)) fail("Torch is for nn/ and train/ only")
    } else if (directive ~ /"/) {
      target = directive
      sub(/^[^"]*"/, "", target)
      sub(/".*/, "", target)
      split(target, part, "/")
      if (part[1] != "puretour" || !(part[2] in level_of))
        fail("include \"" target "\" as \"puretour/<room>/<file>\"")
      else if (part[2] == room) {
        if (room != "kernels") next
        if (!(path[3] in stratum_level) || !(part[3] in stratum_level))
          fail("a file of kernels/ lies in one of its strata: simd, gemm, layers, decode")
        else if (stratum_level[part[3]] > stratum_level[path[3]])
          fail("kernels/" path[3] "/ must not know kernels/" part[3] "/ (\"" target "\")")
        next
      }
      else if (level_of[part[2]] >= level_of[room])
        fail(room "/ must not know " part[2] "/ (\"" target "\")")
      else if ((part[2] in torch_room) && !(room in torch_room) && room != "cli")
        fail(room "/ must build without Torch, but includes \"" target "\"")
    }
  }
  END { exit bad }'

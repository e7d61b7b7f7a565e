// Builds one function for several vector extensions and picks the best one at run time.
// SPDX-License-Identifier: MIT
#pragma once

// Put before the definition of a function whose loops the compiler vectorises. All versions give the same bits: fused
// multiply-add is off (see cmake/PureTourFlags.cmake). Sanitizer builds use the plain version only, because the
// run-time choice happens before the sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define PURETOUR_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define PURETOUR_VECTORISED
#endif

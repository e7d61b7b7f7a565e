// Loops over independent work items on several threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace puretour {

/// The number of threads to use when the user asked for `requested` (0: one per core that this process may use).
int resolve_threads(int requested);

/// Calls body(i) once for every i in 0 .. count - 1, on up to `threads` threads; items are handed out one by one, in
/// order, so unequal items balance. If a body throws, no further items start and the first error (by item index among
/// those that ran) is thrown again here. With one thread everything runs in the caller.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

/// The same for ranges: body(begin, end) over consecutive blocks of at most `block` items. For small items.
void parallel_for_blocks(std::size_t count, std::size_t block, int threads,
                         const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace puretour

// Long work without the GIL that Ctrl-C can stop.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace puretour::python {

/// Runs work(stop) on a thread of its own, without the GIL. Meanwhile the calling thread looks for signals (Python does
/// so on its main thread only): one that raises, as Ctrl-C does, sets `stop`, which the work must look at, and its
/// exception is thrown when the work has ended. `tick`, which may be empty, is called with the GIL ten times a second
/// and once at the end; what it throws stops the work, too.
void run_interruptibly(const std::function<void(std::atomic<bool>& stop)>& work,
                       const std::function<void()>& tick = {});

}  // namespace puretour::python

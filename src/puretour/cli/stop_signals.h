// Ctrl-C and SIGTERM end a long job in order: it keeps what it has.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace puretour::cli {

/// From now on SIGINT and SIGTERM set the flag that is returned. A second signal, two seconds or more after the first,
/// ends the program at once. Earlier ones count as the same request: `timeout`, terminals and launchers send a signal
/// to the program and to its whole process group.
const std::atomic<bool>& catch_stop_signals();

}  // namespace puretour::cli

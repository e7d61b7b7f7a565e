// SPDX-License-Identifier: MIT
#include "puretour/cli/stop_signals.h"

#include <csignal>
#include <ctime>

namespace puretour::cli {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<std::time_t> first_request{0};

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::time_t>::is_always_lock_free,
              "a signal handler must not wait for a lock");

void request_stop(int signal) {
  // clock_gettime may be called in a handler; <chrono> promises nothing of the kind.
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::time_t first = 0;  // replaced by the time of the first request, if this is not it
  if (first_request.compare_exchange_strong(first, now.tv_sec)) {
    stop_requested = true;
  } else if (now.tv_sec - first > 1) {  // in whole seconds, so that one has surely passed
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

const std::atomic<bool>& catch_stop_signals() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  return stop_requested;
}

}  // namespace puretour::cli

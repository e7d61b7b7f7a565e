// When to stop: a time limit, and a request from outside (Ctrl-C).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

namespace puretour {

/// A moment on the monotonic clock, and optionally a flag that asks to stop earlier. Cheap to copy.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Never expires.
  Deadline() = default;

  static Deadline after_seconds(double seconds) {
    Deadline deadline;
    // Far limits (years) would overflow the clock's integer.
    if (seconds < 1e9)
      deadline.end_ =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return deadline;
  }

  /// The same deadline, which also expires when *stop becomes true. The flag must outlive all copies.
  [[nodiscard]] Deadline with_stop_flag(const std::atomic<bool>* stop) const {
    Deadline deadline = *this;
    deadline.stop_ = stop;
    return deadline;
  }

  /// A nearer one with the same flag, after a share of the time that is left.
  [[nodiscard]] Deadline after_share(double share) const {
    return after_seconds(share * seconds_left()).with_stop_flag(stop_);
  }

  [[nodiscard]] bool expired() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return true;
    return end_ != Clock::time_point::max() && Clock::now() >= end_;
  }

  /// Never negative; infinity without a limit.
  [[nodiscard]] double seconds_left() const {
    if (end_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
    return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count());
  }

 private:
  Clock::time_point end_ = Clock::time_point::max();
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace puretour

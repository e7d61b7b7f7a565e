// A progress line on the terminal for loops that take a while.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace puretour {

/// One line on standard error, redrawn a few times per second with share done, rate and time left. Silent where
/// standard error is not a terminal, and for jobs that end within half a second. Safe to use from several threads.
class Progress {
 public:
  /// `what` names the items ("instances"); quiet: never draw.
  Progress(std::string what, std::size_t total, bool quiet = false);
  /// Erases the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::size_t items = 1);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now, std::size_t done);

  std::string what_;
  std::size_t total_;
  bool visible_;
  std::atomic<std::size_t> done_{0};
  std::mutex mutex_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_draw_;
  bool drawn_ = false;
};

/// "0.4 s", "12 s", "3 min 05 s", "2 h 10 min": for people.
std::string format_duration(double seconds);

}  // namespace puretour

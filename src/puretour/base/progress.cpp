// SPDX-License-Identifier: MIT
#include "puretour/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace puretour {
namespace {

constexpr std::chrono::milliseconds kFirstDraw{500};
constexpr std::chrono::milliseconds kRedraw{200};

}  // namespace

Progress::Progress(std::string what, std::size_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      visible_(!quiet && isatty(STDERR_FILENO) != 0),
      next_draw_(start_ + kFirstDraw) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::advance(std::size_t items) {
  const std::size_t done = done_.fetch_add(items, std::memory_order_relaxed) + items;
  if (!visible_) return;
  const Clock::time_point now = Clock::now();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || now < next_draw_) return;
  next_draw_ = now + kRedraw;
  draw(now, done);
}

void Progress::draw(Clock::time_point now, std::size_t done) {
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 1;
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(share * kWidth);
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{} {}  {:.0f}/s  {} left", "", filled, "", kWidth - filled, done,
             total_, what_, static_cast<double>(done) / elapsed,
             format_duration(share > 0 ? elapsed * (1 - share) / share : 0));
  std::fflush(stderr);
}

std::string format_duration(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace puretour

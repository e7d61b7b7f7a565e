// Networks that work on shares of one batch at the same time, each on a thread of its own.
//
// Normalisations need sums over the whole batch: members hand in theirs and wait for the others. The sums are taken in
// the order of the members, so that the result depends on how the batch is shared, but not on the number of threads
// that run. SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace puretour::nn {

class BatchGroup {
 public:
  /// At most `threads` members run at a time; one that waits does not count.
  BatchGroup(std::size_t members, std::size_t threads) : members_(members), free_(threads), shares_(members) {}

  [[nodiscard]] std::size_t size() const { return members_; }

  /// Calls work(member) for all members, each on its own thread, and returns when all are done. If one throws, the
  /// others stop at their next sum, and the first error by member is thrown here.
  void run(const std::function<void(std::size_t)>& work);

  /// Inside run(): replaces the values by their sums over all members. Every member must call it equally often.
  void add_up(std::size_t member, std::span<double> values);

 private:
  void enter(std::unique_lock<std::mutex>& lock);
  void leave();

  std::size_t members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t free_;             // members that may still begin to run
  std::size_t num_waiting_ = 0;  // for the sum in hand
  std::size_t round_ = 0;        // number of the sum in hand
  bool failed_ = false;
  std::vector<std::vector<double>> shares_;
  std::vector<double> sum_;  // of the last round
};

}  // namespace puretour::nn

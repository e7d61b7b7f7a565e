// Networks that work on shares of one batch at the same time, each on a thread of its own.
//
// Normalisations need sums over the whole batch: members hand in theirs and wait for the others. The sums are taken in
// the order of the members, so that the result depends on how the batch is shared, but not on the number of threads
// that run. SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace puretour::nn {

class BatchGroup {
 public:
  /// At most `threads` members run at a time; one that waits does not count.
  BatchGroup(std::size_t members, std::size_t threads);
  ~BatchGroup();
  BatchGroup(const BatchGroup&) = delete;
  BatchGroup& operator=(const BatchGroup&) = delete;

  [[nodiscard]] std::size_t size() const { return members_; }

  /// Calls work(member) for all members, each on a thread that it keeps for its life (and with it the memory that
  /// kernels keep per thread), and returns when all are done. If one throws, the others stop at their next sum, and the
  /// first error by member is thrown here.
  void run(const std::function<void(std::size_t)>& work);

  /// Inside run(): replaces the values by their sums over all members. Every member must call it equally often.
  void add_up(std::size_t member, std::span<double> values);

 private:
  void live(std::size_t member);
  void enter(std::unique_lock<std::mutex>& lock);
  void leave();

  std::size_t members_;
  std::mutex mutex_;
  // One for each thing to wait for: a thread that wakes up in vain costs as much as one that works.
  std::condition_variable called_;    // run() began, or the group ends
  std::condition_variable freed_;     // another member may run
  std::condition_variable added_up_;  // a sum is there, or a member has failed
  std::condition_variable finished_;  // all members have finished
  std::size_t free_;                  // members that may still begin to run
  std::size_t num_waiting_ = 0;       // for the sum in hand
  std::size_t round_ = 0;             // number of the sum in hand
  bool failed_ = false;
  std::vector<std::vector<double>> shares_;
  std::vector<double> sum_;  // of the last round

  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t run_ = 0;       // number of the call of run()
  std::size_t num_left_ = 0;  // members that have not finished it
  bool ended_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
};

}  // namespace puretour::nn

// Networks that work on shares of one batch at the same time, each on a thread of its own.
//
// Normalisations need sums over the whole batch: members hand in theirs and wait for the others. The sums are taken in
// the order of the members, so that the result depends on how the batch is shared, but not on the number of threads
// that run.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "puretour/kernels/simd/scratch.h"

namespace puretour::nn {

class BatchGroup {
 public:
  /// At most `threads` members run at a time; one that waits does not count.
  BatchGroup(std::size_t members, std::size_t threads);
  ~BatchGroup();
  BatchGroup(const BatchGroup&) = delete;
  BatchGroup& operator=(const BatchGroup&) = delete;

  [[nodiscard]] std::size_t size() const { return members_.size(); }

  /// Calls work(member) for all members, each on a thread that it keeps for its life, and returns when all are done. If
  /// one throws, the others stop at their next sum, and the first error by member is thrown here.
  void run(const std::function<void(std::size_t)>& work);

  /// Inside run(): replaces the values by their sums over all members. Every member must call it equally often.
  void add_up(std::size_t member, std::span<double> values);

 private:
  // A place to run in. If there are as many as processors, each is one processor: a member that is woken up runs where
  // another one has just stopped, instead of wherever the system sees fit, and its kernels find the memory of the other
  // one's in the cache.
  struct Place {
    std::optional<int> processor;
    kernels::Scratch scratch;
  };
  struct Member {
    std::thread thread;
    std::condition_variable may_run;
    std::optional<std::size_t> place;
    std::optional<int> processor;  // that the thread is bound to
    std::vector<double> share;     // of the sum in hand
    std::exception_ptr error;
  };

  void live(std::size_t member);
  // All of these with the lock held.
  void give_places();
  void leave_place(Member& member);
  void wait_for_place(std::unique_lock<std::mutex>& lock, Member& member);
  void wake_waiting();

  std::mutex mutex_;
  std::vector<Place> places_;
  std::vector<std::size_t> free_places_;
  std::deque<std::size_t> ready_;     // members that want a place, in their order
  std::vector<std::size_t> waiting_;  // members that wait for the sum in hand
  std::vector<double> sum_;           // of the last round
  bool failed_ = false;

  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t num_left_ = 0;  // members that have not finished run()
  std::condition_variable finished_;
  bool ended_ = false;
  std::vector<Member> members_;  // last: their threads use all of the above
};

}  // namespace puretour::nn

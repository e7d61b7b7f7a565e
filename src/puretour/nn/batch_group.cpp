// SPDX-License-Identifier: MIT
#include "puretour/nn/batch_group.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace puretour::nn {
namespace {

// Ends the work of a member whose group has failed; never leaves this file.
struct Abandoned {};

}  // namespace

void BatchGroup::enter(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return free_ > 0; });
  --free_;
}

void BatchGroup::leave() {
  ++free_;
  changed_.notify_all();
}

void BatchGroup::run(const std::function<void(std::size_t)>& work) {
  failed_ = false;
  num_waiting_ = 0;
  std::vector<std::exception_ptr> errors(members_);
  std::vector<std::thread> threads;
  threads.reserve(members_);
  for (std::size_t member = 0; member < members_; ++member) {
    threads.emplace_back([&, member] {
      {
        std::unique_lock lock(mutex_);
        enter(lock);
      }
      try {
        work(member);
      } catch (const Abandoned&) {  // another one has the error
      } catch (...) {
        errors[member] = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (errors[member]) failed_ = true;
      leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void BatchGroup::add_up(std::size_t member, std::span<double> values) {
  std::unique_lock lock(mutex_);
  if (failed_) throw Abandoned();
  shares_[member].assign(values.begin(), values.end());
  if (++num_waiting_ == members_) {
    sum_.assign(values.size(), 0.0);
    for (const std::vector<double>& share : shares_) {
      for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += share[i];
    }
    num_waiting_ = 0;
    ++round_;
    changed_.notify_all();
  } else {
    const std::size_t round = round_;
    leave();
    changed_.wait(lock, [&] { return round_ != round || failed_; });
    const bool done = round_ != round;
    // The next round can not end before this member hands in its share, so that the sum stays.
    if (done) std::copy(sum_.begin(), sum_.end(), values.begin());
    enter(lock);
    if (!done) throw Abandoned();
    return;
  }
  std::copy(sum_.begin(), sum_.end(), values.begin());
}

}  // namespace puretour::nn

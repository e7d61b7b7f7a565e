// SPDX-License-Identifier: MIT
#include "puretour/nn/batch_group.h"

#include <algorithm>

namespace puretour::nn {
namespace {

// Ends the work of a member whose group has failed; never leaves this file.
struct Abandoned {};

}  // namespace

void BatchGroup::enter(std::unique_lock<std::mutex>& lock) {
  freed_.wait(lock, [&] { return free_ > 0; });
  --free_;
}

void BatchGroup::leave() {
  ++free_;
  freed_.notify_one();
}

BatchGroup::BatchGroup(std::size_t members, std::size_t threads)
    : members_(members), free_(threads), shares_(members), errors_(members) {
  threads_.reserve(members_);
  for (std::size_t member = 0; member < members_; ++member) threads_.emplace_back([this, member] { live(member); });
}

BatchGroup::~BatchGroup() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    called_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

// What the thread of a member does: it waits for work, does it and waits again.
void BatchGroup::live(std::size_t member) {
  std::size_t last_run = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    called_.wait(lock, [&] { return ended_ || run_ != last_run; });
    if (ended_) return;
    last_run = run_;
    enter(lock);
    lock.unlock();
    try {
      (*work_)(member);
    } catch (const Abandoned&) {  // another one has the error
    } catch (...) {
      errors_[member] = std::current_exception();
    }
    lock.lock();
    if (errors_[member]) {
      failed_ = true;
      added_up_.notify_all();
    }
    if (--num_left_ == 0) finished_.notify_one();
    leave();
  }
}

void BatchGroup::run(const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(mutex_);
  failed_ = false;
  num_waiting_ = 0;
  std::fill(errors_.begin(), errors_.end(), nullptr);
  work_ = &work;
  num_left_ = members_;
  ++run_;
  called_.notify_all();
  finished_.wait(lock, [&] { return num_left_ == 0; });
  for (const std::exception_ptr& error : errors_) {
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
    added_up_.notify_all();
  } else {
    const std::size_t round = round_;
    leave();
    added_up_.wait(lock, [&] { return round_ != round || failed_; });
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

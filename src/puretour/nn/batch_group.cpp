// SPDX-License-Identifier: MIT
#include "puretour/nn/batch_group.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace puretour::nn {
namespace {

// Ends the work of a member whose group has failed; never leaves this file.
struct Abandoned {};

std::vector<int> allowed_processors() {
  std::vector<int> result;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return result;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) result.push_back(cpu);
  }
  return result;
}

}  // namespace

BatchGroup::BatchGroup(std::size_t members, std::size_t threads) : places_(threads), members_(members) {
  const std::vector<int> processors = allowed_processors();
  for (std::size_t p = 0; p < places_.size(); ++p) {
    if (threads > 1 && processors.size() == threads) places_[p].processor = processors[p];
    free_places_.push_back(p);
  }
  for (std::size_t m = 0; m < members_.size(); ++m) members_[m].thread = std::thread([this, m] { live(m); });
}

BatchGroup::~BatchGroup() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (Member& member : members_) member.may_run.notify_one();
  }
  for (Member& member : members_) member.thread.join();
}

void BatchGroup::give_places() {
  while (!free_places_.empty() && !ready_.empty()) {
    Member& member = members_[ready_.front()];
    ready_.pop_front();
    const std::size_t place = free_places_.back();
    free_places_.pop_back();
    member.place = place;
    if (const auto processor = places_[place].processor; processor && processor != member.processor) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(*processor, &only);
      pthread_setaffinity_np(member.thread.native_handle(), sizeof only, &only);  // if refused, it runs elsewhere
      member.processor = processor;
    }
    member.may_run.notify_one();
  }
}

void BatchGroup::leave_place(Member& member) {
  free_places_.push_back(*member.place);
  member.place.reset();
  give_places();
}

void BatchGroup::wait_for_place(std::unique_lock<std::mutex>& lock, Member& member) {
  member.may_run.wait(lock, [&] { return member.place || ended_; });
  kernels::Scratch::use(member.place ? &places_[*member.place].scratch : nullptr);
}

void BatchGroup::wake_waiting() {
  ready_.insert(ready_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  give_places();
}

// What the thread of a member does: it waits for work, does it and waits again.
void BatchGroup::live(std::size_t number) {
  std::unique_lock lock(mutex_);
  Member& member = members_[number];
  for (;;) {
    wait_for_place(lock, member);
    if (ended_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*work_)(number);
    } catch (const Abandoned&) {  // another one has the error
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      member.error = error;
      failed_ = true;
      wake_waiting();
    }
    if (--num_left_ == 0) finished_.notify_one();
    leave_place(member);
  }
}

void BatchGroup::run(const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(mutex_);
  failed_ = false;
  work_ = &work;
  num_left_ = members_.size();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    members_[m].error = nullptr;
    ready_.push_back(m);
  }
  give_places();
  finished_.wait(lock, [&] { return num_left_ == 0; });
  for (const Member& member : members_) {
    if (member.error) std::rethrow_exception(member.error);
  }
}

void BatchGroup::add_up(std::size_t number, std::span<double> values) {
  std::unique_lock lock(mutex_);
  if (failed_) throw Abandoned();
  Member& member = members_[number];
  member.share.assign(values.begin(), values.end());
  if (waiting_.size() + 1 < members_.size()) {
    waiting_.push_back(number);
    leave_place(member);
    wait_for_place(lock, member);
    if (failed_) throw Abandoned();
  } else {
    sum_.assign(values.size(), 0.0);
    for (const Member& m : members_) {
      for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += m.share[i];
    }
    wake_waiting();
  }
  // The next round cannot end before this member hands in its share, so that the sum stays.
  std::copy(sum_.begin(), sum_.end(), values.begin());
}

}  // namespace puretour::nn

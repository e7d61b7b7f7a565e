// SPDX-License-Identifier: MIT
#include "interruptible.h"

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace py = pybind11;

namespace puretour::python {

void run_interruptibly(const std::function<void(std::atomic<bool>& stop)>& work, const std::function<void()>& tick) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  std::atomic<bool> stop{false};
  std::exception_ptr from_work;
  std::exception_ptr from_python;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  {
    const py::gil_scoped_release released;
    std::thread worker([&] {
      try {
        work(stop);
      } catch (...) {
        from_work = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done = true;
      ended.notify_one();
    });
    while (true) {
      {
        std::unique_lock lock(mutex);
        ended.wait_for(lock, kPause, [&] { return done; });
        if (done) break;
      }
      // Not under the mutex: the worker may need the GIL for a call back.
      if (from_python) continue;
      const py::gil_scoped_acquire acquired;
      try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (tick) tick();
      } catch (...) {
        from_python = std::current_exception();
        stop = true;
      }
    }
    worker.join();
  }
  if (!from_python && !from_work && tick) tick();
  if (from_python) std::rethrow_exception(from_python);
  if (from_work) std::rethrow_exception(from_work);
}

}  // namespace puretour::python

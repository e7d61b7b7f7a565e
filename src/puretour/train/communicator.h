// Processes that train one network together: they add up what each has computed for its share of the batch.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "puretour/nn/torch.h"

namespace puretour::train {

struct ProcessPlace {
  int rank = 0;            // 0 .. count - 1; number 0 writes files
  int count = 1;           // processes in all
  std::string rendezvous;  // where they meet: HOST:PORT of number 0, or file:PATH on a disk that all see
};

class Communicator {
 public:
  /// Waits for the others. Throws InputError if the place makes no sense, ConnectionError if they do not come.
  explicit Communicator(const ProcessPlace& place);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int count() const { return place_.count; }

  /// Replaces every tensor by its sum over all processes; the order of addition is the same everywhere. Throws
  /// ConnectionError if a process is lost.
  void add_up(const std::vector<nn::Tensor>& tensors);
  double add_up(double value);

 private:
  struct Group;
  ProcessPlace place_;
  std::unique_ptr<Group> group_;
};

}  // namespace puretour::train

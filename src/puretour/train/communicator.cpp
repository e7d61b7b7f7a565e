// SPDX-License-Identifier: MIT
#include "puretour/train/communicator.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour::train {
namespace {

constexpr std::chrono::minutes kPatience{10};

// The first line of what LibTorch says; the rest is a stack trace.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

c10::intrusive_ptr<c10d::Store> open_store(const ProcessPlace& place) {
  const std::string prefix = "file:";
  if (place.rendezvous.starts_with(prefix)) {
    return c10::make_intrusive<c10d::FileStore>(place.rendezvous.substr(prefix.size()), place.count);
  }
  const std::size_t colon = place.rendezvous.rfind(':');
  std::uint16_t port = 0;
  const char* end = place.rendezvous.data() + place.rendezvous.size();
  if (colon == std::string::npos || colon == 0 ||
      std::from_chars(place.rendezvous.data() + colon + 1, end, port).ptr != end || port == 0) {
    throw InputError(fmt::format("--rendezvous is {}, but must be HOST:PORT of process 0, or file:PATH",
                                 quote_input(place.rendezvous)));
  }
  c10d::TCPStoreOptions options;
  options.port = port;
  options.isServer = place.rank == 0;
  options.numWorkers = static_cast<std::size_t>(place.count);
  options.timeout = kPatience;
  return c10::make_intrusive<c10d::TCPStore>(place.rendezvous.substr(0, colon), options);
}

}  // namespace

struct Communicator::Group {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
};

Communicator::Communicator(const ProcessPlace& place) : place_(place) {
  if (place.count < 1 || place.rank < 0 || place.rank >= place.count) {
    throw InputError(fmt::format("--rank is {}, but with {} processes it must lie in 0 .. {}", place.rank, place.count,
                                 place.count - 1));
  }
  if (place.count == 1) return;
  try {
    const auto store = open_store(place);
    auto options = c10d::ProcessGroupGloo::Options::create(kPatience);
    options->devices.push_back(place.rendezvous.starts_with("file:")
                                   ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                   : c10d::ProcessGroupGloo::createDefaultDevice());
    group_ = std::make_unique<Group>();
    group_->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.count, options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw ConnectionError(
        fmt::format("process {} can not reach the others at {}: {}", place.rank, place.rendezvous, first_line(error)));
  }
}

Communicator::~Communicator() = default;

void Communicator::add_up(const std::vector<nn::Tensor>& tensors) {
  if (place_.count == 1) return;
  const torch::NoGradGuard no_grad;
  try {
    // One message, and the same sum in every process: all add up what all have sent, in the order of ranks.
    std::vector<nn::Tensor> flat;
    flat.reserve(tensors.size());
    for (const nn::Tensor& t : tensors) flat.push_back(t.detach().reshape(-1).to(torch::kCPU));
    std::vector<nn::Tensor> mine = {torch::cat(flat)};
    std::vector<std::vector<nn::Tensor>> all(1);
    for (int r = 0; r < place_.count; ++r) all[0].push_back(torch::empty_like(mine[0]));
    group_->gloo->allgather(all, mine)->wait();
    nn::Tensor sum = all[0][0];
    for (std::size_t r = 1; r < all[0].size(); ++r) sum = sum + all[0][r];
    std::int64_t begin = 0;
    for (const nn::Tensor& t : tensors) {
      t.detach().copy_(sum.narrow(0, begin, t.numel()).view(t.sizes()));
      begin += t.numel();
    }
  } catch (const std::exception& error) {
    throw ConnectionError(fmt::format(
        "process {} has lost another one ({}); start all of them again, and the run goes on from its last checkpoint",
        place_.rank, first_line(error)));
  }
}

double Communicator::add_up(double value) {
  if (place_.count == 1) return value;
  const nn::Tensor tensor = torch::tensor({value}, torch::kFloat64);
  add_up(std::vector<nn::Tensor>{tensor});
  return tensor.item<double>();
}

}  // namespace puretour::train

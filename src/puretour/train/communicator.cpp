// SPDX-License-Identifier: MIT
#include "puretour/train/communicator.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/nn/torch.h"

#if PURETOUR_HAS_GLOO
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

namespace puretour::train {
namespace {

// The first line of what LibTorch says; the rest is a stack trace.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

#if PURETOUR_HAS_GLOO
constexpr std::chrono::minutes kPatience{10};

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
#endif

}  // namespace

struct Communicator::Group {
#if PURETOUR_HAS_GLOO
  explicit Group(const ProcessPlace& place) {
    // Writing to a process that is gone must be an error to report, not the end of this one.
    std::signal(SIGPIPE, SIG_IGN);
    const auto store = open_store(place);
    auto options = c10d::ProcessGroupGloo::Options::create(kPatience);
    options->devices.push_back(place.rendezvous.starts_with("file:")
                                   ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                   : c10d::ProcessGroupGloo::createDefaultDevice());
    gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.count, options);
  }
  /// Writes what process r has given to all[r].
  void gather(nn::Tensor mine, std::vector<nn::Tensor>& all) const {
    std::vector<nn::Tensor> inputs = {std::move(mine)};
    std::vector<std::vector<nn::Tensor>> outputs = {all};
    gloo->allgather(outputs, inputs)->wait();
  }
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
#else
  explicit Group(const ProcessPlace& place) {
    throw InputError(fmt::format(
        "--processes is {}, but this program was built with a LibTorch without Gloo or without its headers: only one "
        "process can train",
        place.count));
  }
  void gather(const nn::Tensor&, std::vector<nn::Tensor>&) const {}
#endif
};

Communicator::Communicator(const ProcessPlace& place) : place_(place) {
  if (place.count < 1 || place.rank < 0 || place.rank >= place.count) {
    throw InputError(fmt::format("--rank is {}, but with {} processes it must lie in 0 .. {}", place.rank, place.count,
                                 place.count - 1));
  }
  if (place.count == 1) return;
  try {
    group_ = std::make_unique<Group>(place);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw ConnectionError(
        fmt::format("process {} cannot reach the others at {}: {}", place.rank, place.rendezvous, first_line(error)));
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
    const nn::Tensor mine = torch::cat(flat);
    std::vector<nn::Tensor> all;
    for (int r = 0; r < place_.count; ++r) all.push_back(torch::empty_like(mine));
    group_->gather(mine, all);
    nn::Tensor sum = all[0];
    for (std::size_t r = 1; r < all.size(); ++r) sum = sum + all[r];
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

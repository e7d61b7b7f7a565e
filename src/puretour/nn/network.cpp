// SPDX-License-Identifier: MIT
#include "puretour/nn/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/nn/attention_model.h"
#include "puretour/nn/encoder_function.h"
#include "puretour/nn/group_batch_norm.h"
#include "puretour/nn/invit.h"
#include "puretour/nn/kernel_functions.h"
#include "puretour/nn/pointerformer.h"

namespace puretour::nn {
namespace {

// A part of the tree of names; all work is done by the network.
struct Branch : torch::nn::Module {};

bool is_statistic(WeightRole role) {
  return role == WeightRole::kRunningMean || role == WeightRole::kRunningVar;
}

std::vector<std::int64_t> sizes_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

// The bound of a uniform distribution: 1 / sqrt(inputs) for linear layers and their biases, with the originals'
// exceptions.
double initial_bound(const ModelConfig& config, const WeightSpec& spec, const std::map<std::string, Shape>& shapes) {
  if (spec.role == WeightRole::kPlaceholder) return 1;
  if (spec.name.ends_with("mha.in_proj_weight")) {  // Xavier, over query, key and value together
    return std::sqrt(6.0 / static_cast<double>(spec.shape[0] + spec.shape[1]));
  }
  if (std::holds_alternative<AmConfig>(config) && spec.shape.size() == 3) {
    return 1 / std::sqrt(static_cast<double>(spec.shape[2]));
  }
  if (spec.role == WeightRole::kMatrix) return 1 / std::sqrt(static_cast<double>(spec.shape[1]));
  const std::string matrix = spec.name.substr(0, spec.name.rfind('.')) + ".weight";
  return 1 / std::sqrt(static_cast<double>(shapes.at(matrix)[1]));
}

// Random numbers are drawn in the order in which the original programs construct their modules.
std::vector<WeightSpec> in_drawing_order(const ModelConfig& config) {
  std::vector<WeightSpec> specs = weight_specs(config);
  // PyTorch's attention module draws its output map before its input map.
  for (std::size_t i = 0; i + 1 < specs.size(); ++i) {
    if (specs[i].name.ends_with("mha.in_proj_weight")) std::swap(specs[i], specs[i + 1]);
  }
  return specs;
}

}  // namespace

Network::Network(ModelConfig config) : config_(std::move(config)) {
  for (const WeightSpec& spec : weight_specs(config_)) {
    torch::nn::Module* branch = this;
    std::string rest = spec.name;
    for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
      const std::string name = rest.substr(0, dot);
      rest = rest.substr(dot + 1);
      const auto children = branch->named_children();
      const auto* child = children.find(name);
      branch = child != nullptr ? child->get() : branch->register_module(name, std::make_shared<Branch>()).get();
    }
    Tensor values = torch::zeros(sizes_of(spec.shape));
    weights_[spec.name] =
        is_statistic(spec.role) ? branch->register_buffer(rest, values) : branch->register_parameter(rest, values);
  }
}

void Network::set_weights(const TensorMap& weights) {
  check_weights(config_, weights, "checkpoint");
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : weights_) {
    const std::vector<float>& values = weights.at(name).values;
    const Tensor source = torch::tensor(at::ArrayRef<float>(values.data(), values.size()));
    tensor.copy_(source.view(tensor.sizes()));
  }
}

void Network::share_parameters(const Network& other) {
  for (auto& [name, tensor] : weights_) {
    if (tensor.requires_grad()) tensor.set_data(other.weights_.at(name).detach());
  }
}

void Network::copy_statistics(const Network& other) {
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : weights_) {
    if (!tensor.requires_grad()) tensor.copy_(other.weights_.at(name));
  }
}

TensorMap Network::weights() const {
  TensorMap result;
  for (const WeightSpec& spec : weight_specs(config_)) {
    const Tensor values = weights_.at(spec.name).detach().to(torch::kCPU, torch::kFloat32).contiguous();
    const auto* begin = values.data_ptr<float>();
    result[spec.name] = {spec.shape, std::vector<float>(begin, begin + values.numel())};
  }
  return result;
}

void Network::initialise() {
  initialise_with([](Tensor& values, double bound) { values.uniform_(-bound, bound); });
}

void Network::initialise(Rng& rng) {
  initialise_with([&](Tensor& values, double bound) {
    std::vector<float> drawn(static_cast<std::size_t>(values.numel()));
    for (float& v : drawn) v = static_cast<float>((2 * rng.uniform() - 1) * bound);
    values.copy_(torch::tensor(at::ArrayRef<float>(drawn.data(), drawn.size())).view(values.sizes()));
  });
}

void Network::initialise_with(const std::function<void(Tensor& values, double bound)>& fill_uniform) {
  const torch::NoGradGuard no_grad;
  std::map<std::string, Shape> shapes;
  for (const WeightSpec& spec : weight_specs(config_)) shapes[spec.name] = spec.shape;
  for (const WeightSpec& spec : in_drawing_order(config_)) {
    Tensor& values = weights_.at(spec.name);
    switch (spec.role) {
      case WeightRole::kScale:
      case WeightRole::kRunningVar:
        values.fill_(1);
        break;
      case WeightRole::kShift:
      case WeightRole::kRunningMean:
        values.fill_(0);
        break;
      default: {
        fill_uniform(values, initial_bound(config_, spec, shapes));
      }
    }
  }
}

Tensor Network::linear(const std::string& name, const Tensor& x) const {
  const auto found = weights_.find(name + ".bias");
  return linear(name, x, weight(name + ".weight"), found == weights_.end() ? Tensor() : found->second);
}

Tensor Network::linear(const std::string& name, const Tensor& x, const Tensor& weight, const Tensor& bias) const {
  return kernels_support(x) ? kernel_linear(x, weight, bias, packing(name)) : torch::linear(x, weight, bias);
}

Tensor Network::add_feed_forward(const Tensor& residual, const std::string& first, const std::string& second,
                                 kernels::Activation activation, const Tensor& x) const {
  if (kernels_support(x)) {
    return kernel_feed_forward(x, weight(first + ".weight"), weight(first + ".bias"), weight(second + ".weight"),
                               weight(second + ".bias"), activation, packing(first), residual);
  }
  const Tensor hidden = linear(first, x);
  return residual +
         linear(second, activation == kernels::Activation::kRelu ? torch::relu(hidden) : torch::gelu(hidden));
}

Tensor Network::add_self_attention(const std::string& name, const Tensor& residual, const Tensor& x,
                                   const Tensor& in_weight, const Tensor& out_weight, std::size_t num_heads) const {
  const std::int64_t head_dim = x.size(2) / static_cast<std::int64_t>(num_heads);
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  if (kernels_support(x)) {
    return kernel_attention_block(x, in_weight, out_weight, {}, residual, plan_of_instances(x.size(0), x.size(1)),
                                  {num_heads, static_cast<std::size_t>(head_dim), static_cast<float>(scale)},
                                  packing(name));
  }
  const std::vector<Tensor> parts = torch::linear(x, in_weight).chunk(3, -1);
  const auto heads = [&](std::size_t part) { return split_heads(parts[part], static_cast<std::int64_t>(num_heads)); };
  const Tensor weights = torch::softmax(heads(0).matmul(heads(1).transpose(-1, -2)) * scale, -1);  // (B, H, N, N)
  return residual + torch::linear(merge_heads(weights.matmul(heads(2))), out_weight);
}

namespace {
constexpr double kBatchNormEpsilon = 1e-5;
}  // namespace

void Network::move_statistics(const std::string& name, const Tensor& mean, const Tensor& variance, double num_rows,
                              double momentum) {
  const torch::NoGradGuard no_grad;
  const double unbiased = num_rows / std::max(1.0, num_rows - 1);
  weights_.at(name + ".running_mean").mul_(1 - momentum).add_(mean, momentum);
  weights_.at(name + ".running_var").mul_(1 - momentum).add_(variance, momentum * unbiased);
}

Tensor Network::batch_norm(const std::string& name, const Tensor& x, Statistics statistics, double momentum) {
  // Momentum 0 leaves the running statistics as they are.
  const double used = statistics == Statistics::kUpdate ? momentum : 0.0;
  const Tensor rows = x.reshape({-1, x.size(-1)});
  if (group_ != nullptr && is_training()) {
    const GroupNormalised result =
        group_batch_norm(rows, weight(name + ".weight"), weight(name + ".bias"), kBatchNormEpsilon, *group_, member_);
    if (used > 0) move_statistics(name, result.mean, result.variance, result.num_rows, used);
    return result.values.view_as(x);
  }
  return torch::batch_norm(rows, weight(name + ".weight"), weight(name + ".bias"), weight(name + ".running_mean"),
                           weight(name + ".running_var"), is_training(), used, kBatchNormEpsilon, false)
      .view_as(x);
}

Tensor Network::run_encoder(const Tensor& x, const EncoderBlocks& encoder, Statistics statistics) {
  if (kernels_support(x) && is_training()) return run_encoder_by_kernels(x, encoder, statistics);
  const auto normalised = [&](std::size_t s, const Tensor& t) {
    return encoder.norms[s].empty() ? t : batch_norm(encoder.norms[s], t, statistics, encoder.momentum);
  };
  std::vector<Tensor> t = {x};
  for (std::size_t s = 0; s < encoder.blocks.size(); ++s) {
    const EncoderBlock& block = encoder.blocks[s];
    const Tensor n = normalised(s, t[s]);
    const Tensor residual =
        encoder.residual == kernels::Encoder::Residual::kInput ? n : t[std::max<std::size_t>(s, 1) - 1];
    t.push_back(block.in_weight.defined()
                    ? add_self_attention(block.name, residual, n, block.in_weight, block.out_weight, encoder.num_heads)
                    : add_feed_forward(residual, block.first, block.second, encoder.activation, n));
  }
  return normalised(encoder.blocks.size(), t.back());
}

Tensor Network::run_encoder_by_kernels(const Tensor& x, const EncoderBlocks& encoder, Statistics statistics) {
  EncoderWeights weights;
  for (const EncoderBlock& block : encoder.blocks) {
    EncoderBlockWeights of_block;
    of_block.packing = packing(block.name);
    if (block.in_weight.defined()) {
      of_block.in_weight = block.in_weight;
      of_block.out_weight = block.out_weight;
    } else {
      of_block.first_weight = weight(block.first + ".weight");
      of_block.first_bias = weight(block.first + ".bias");
      of_block.second_weight = weight(block.second + ".weight");
      of_block.second_bias = weight(block.second + ".bias");
    }
    weights.blocks.push_back(std::move(of_block));
  }
  for (const std::string& norm : encoder.norms) {
    weights.norms.push_back(norm.empty() ? EncoderNormWeights()
                                         : EncoderNormWeights{weight(norm + ".weight"), weight(norm + ".bias")});
  }
  weights.residual = encoder.residual;
  weights.activation = encoder.activation;
  const std::size_t head_dim = static_cast<std::size_t>(x.size(2)) / encoder.num_heads;
  weights.shape = {encoder.num_heads, head_dim, static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
  weights.epsilon = kBatchNormEpsilon;
  const kernels::AddUp add_up = [group = group_, member = member_](std::span<double> values) {
    if (group != nullptr) group->add_up(member, values);
  };
  const EncoderResult result =
      kernel_encoder(x.reshape({-1, x.size(2)}), weights, plan_of_instances(x.size(0), x.size(1)), add_up);
  for (std::size_t s = 0; s < encoder.norms.size() && statistics == Statistics::kUpdate; ++s) {
    if (encoder.norms[s].empty()) continue;
    const kernels::NormStatistics& of_batch = result.statistics[s];
    move_statistics(encoder.norms[s], torch::tensor(of_batch.mean), torch::tensor(of_batch.variance), of_batch.num_rows,
                    encoder.momentum);
  }
  return result.rows.view_as(x);
}

Tensor Network::layer_norm(const std::string& name, const Tensor& x, double epsilon) const {
  return torch::layer_norm(x, {x.size(-1)}, weight(name + ".weight"), weight(name + ".bias"), epsilon);
}

Tensor Network::score(const Tensor& points, const Tensor& tours) {
  return score_encoded(encode(points, Statistics::kUpdate), tours);
}

Tensor Network::all_log_probs(const std::vector<Tensor>& encoded, const Tensor& tours) {
  const std::int64_t num_nodes = tours.size(2);
  const std::int64_t first_step = chooses_start() ? 0 : 1;
  // A node is visited before step t if its position in the tour is below t.
  const auto indices = tours.options();
  const Tensor positions =
      torch::empty_like(tours).scatter_(2, tours, torch::arange(num_nodes, indices).expand_as(tours));  // (B, G, N)
  const Tensor step_numbers = torch::arange(first_step, num_nodes, indices);                            // (S)
  Steps steps;
  steps.visited = positions.unsqueeze(2) < step_numbers.view({1, 1, -1, 1});  // (B, G, S, N)
  steps.last = tours.index_select(2, (step_numbers - 1).clamp_min(0));        // (B, G, S)
  steps.first = tours.narrow(2, 0, 1).expand_as(steps.last);
  steps.from_nothing = first_step == 0;
  return step_log_probs(decoder_inputs(encoded), steps);
}

Tensor Network::score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) {
  const std::int64_t num_nodes = tours.size(2);
  const std::int64_t first_step = chooses_start() ? 0 : 1;
  const Tensor log_probs_of_start =
      torch::zeros({tours.size(0), tours.size(1), first_step}, encoded[0].options().requires_grad(false));
  if (num_nodes == first_step) return log_probs_of_start;
  const Tensor chosen = tours.narrow(2, first_step, num_nodes - first_step);
  const Tensor log_probs = all_log_probs(encoded, tours).gather(3, chosen.unsqueeze(3)).squeeze(3);  // (B, G, S)
  return torch::cat({log_probs_of_start, log_probs}, 2);
}

Tensor Network::weighted_score(const std::vector<Tensor>& encoded, const Tensor& tours, const Tensor& coefficients) {
  return (score_encoded(encoded, tours) * coefficients).sum();
}

TaughtScore Network::taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) {
  const std::int64_t first_step = chooses_start() ? 0 : 1;
  const std::int64_t num_steps = steps.tours.size(2) - first_step;
  const Tensor all = all_log_probs(encoded, steps.tours);                          // (B, G, S, N)
  const Tensor right = steps.tours.narrow(2, first_step, num_steps).unsqueeze(3);  // (B, G, S, 1)
  const Tensor log_probs = all.gather(3, right).squeeze(3);                        // (B, G, S)
  const Tensor numbers = torch::arange(first_step, steps.tours.size(2), steps.ranges.options());
  const Tensor taught = (numbers >= steps.ranges.narrow(2, 0, 1)).logical_and(numbers < steps.ranges.narrow(2, 1, 1));
  const Tensor asked = taught.to(all.device());
  const Tensor scored = asked.logical_and(log_probs.isfinite());
  TaughtScore score;
  // Not times 0: minus infinity times 0 is no number.
  const Tensor finite = log_probs.masked_fill(scored.logical_not(), 0);
  score.sum = (finite * steps.coefficients.narrow(2, first_step, num_steps)).sum();
  score.log_prob = finite.sum(torch::kFloat64).item<double>();
  score.decisions = scored.sum().item<std::int64_t>();
  score.correct = scored.logical_and(log_probs >= all.amax(3)).sum().item<std::int64_t>();
  score.skipped = asked.sum().item<std::int64_t>() - score.decisions;
  return score;
}

TourBatch Network::roll_out(const Tensor& points, const RolloutRequest& request) {
  const torch::NoGradGuard no_grad;
  const std::int64_t num_instances = points.size(0);
  const std::int64_t num_nodes = points.size(1);
  const std::int64_t num_tours = request.num_tours;
  const auto indices = torch::TensorOptions().dtype(torch::kInt64).device(points.device());
  const std::vector<Tensor> inputs = decoder_inputs(encode(points, Statistics::kKeep));
  Tensor visited = torch::zeros({num_instances, num_tours, num_nodes}, indices.dtype(torch::kBool));
  std::vector<Tensor> order;
  std::vector<Tensor> log_probs;
  for (std::int64_t step = 0; step < num_nodes; ++step) {
    const bool forced = step == 0 && (request.starts.defined() || !chooses_start());
    Tensor choice;  // (B, G, 1)
    if (forced) {
      choice = request.starts.defined() ? request.starts.to(indices).reshape({num_instances, num_tours, 1})
                                        : torch::zeros({num_instances, num_tours, 1}, indices);
    }
    if (step == 0 && !chooses_start()) {
      log_probs.push_back(torch::zeros({num_instances, num_tours, 1}, points.options()));
    } else {
      Steps steps;
      steps.visited = visited.unsqueeze(2);
      steps.from_nothing = step == 0;
      steps.first = step == 0 ? torch::zeros({num_instances, num_tours, 1}, indices) : order.front();
      steps.last = step == 0 ? steps.first : order.back();
      const Tensor all = step_log_probs(inputs, steps).squeeze(2);  // (B, G, N)
      if (!forced && request.sample) {
        const Tensor probabilities = torch::softmax(all / request.temperature, -1);
        choice = torch::multinomial(probabilities.view({-1, num_nodes}), 1, true, request.generator)
                     .view({num_instances, num_tours, 1});
      } else if (!forced) {
        choice = all.argmax(-1, true);
      }
      log_probs.push_back(all.gather(2, choice));
    }
    visited = visited.scatter(2, choice, true);
    order.push_back(choice);
  }
  return {torch::cat(order, 2), torch::cat(log_probs, 2)};
}

std::shared_ptr<Network> make_network(const ModelConfig& config) {
  if (std::holds_alternative<AmConfig>(config)) return std::make_shared<AttentionModel>(std::get<AmConfig>(config));
  if (std::holds_alternative<PointerformerConfig>(config)) {
    return std::make_shared<Pointerformer>(std::get<PointerformerConfig>(config));
  }
  return std::make_shared<Invit>(std::get<InvitConfig>(config));
}

std::shared_ptr<Network> make_network(const Checkpoint& checkpoint) {
  auto network = make_network(checkpoint.config);
  network->set_weights(checkpoint.weights);
  return network;
}

Tensor gather_rows(const Tensor& values, const Tensor& nodes) {
  return values.gather(1, nodes.unsqueeze(2).expand({-1, -1, values.size(2)}));
}

Tensor tour_lengths(const Tensor& points, const Tensor& tours) {
  const Tensor ordered = gather_rows(points, tours.flatten(1)).view({tours.size(0), tours.size(1), tours.size(2), 2});
  return (ordered - ordered.roll(-1, 2)).norm(2, -1).sum(-1);
}

Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
  return x.unflatten(-1, {num_heads, x.size(-1) / num_heads}).transpose(-3, -2);
}

Tensor merge_heads(const Tensor& x) {
  return x.transpose(-3, -2).flatten(-2);
}

}  // namespace puretour::nn

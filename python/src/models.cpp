// Trained networks: tours by decoding, log-probabilities of given tours.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "arrays.h"
#include "bindings.h"
#include "interruptible.h"
#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/infer/neural_solver.h"
#include "puretour/infer/policy.h"
#include "puretour/models/checkpoint.h"
#include "solve_call.h"

namespace puretour::python {
namespace {

// Instances whose keys and values are in memory at a time.
constexpr std::size_t kInstancesAtOnce = 64;

class Model {
 public:
  explicit Model(const std::string& path) : checkpoint_(read_checkpoint(path)), policy_(make_policy(checkpoint_)) {}

  [[nodiscard]] std::string architecture() const { return std::string(architecture_name(checkpoint_.config)); }
  [[nodiscard]] std::string config() const { return model_config_text(checkpoint_.config); }
  [[nodiscard]] std::size_t parameters() const { return num_parameters(checkpoint_.config); }
  [[nodiscard]] const std::map<std::string, std::string>& notes() const { return checkpoint_.notes; }

  [[nodiscard]] py::dict solve(const Instance& instance, const std::string& decode, const std::string& augment,
                               double temperature, bool improve, const std::string& precision, bool raw_coordinates,
                               int threads, std::optional<double> time_limit, std::uint64_t seed,
                               const std::optional<Integers>& initial, bool bound, const py::object& progress) const {
    NeuralSettings settings;
    settings.decoding = Decoding::parse(decode);
    settings.augmentation = Augmentation::parse(augment);
    settings.temperature = temperature;
    settings.improve = improve;
    settings.precision = kernels::parse_precision(precision);
    settings.raw_coordinates = raw_coordinates;
    settings.threads = threads;
    const auto solver = make_neural_solver(checkpoint_, settings);
    return solve_call(*solver, instance, {time_limit, seed, initial, bound, progress});
  }

  struct RolloutCall {
    bool sample;
    double temperature;
    std::uint64_t seed;
    bool raw_coordinates;
    int threads;
  };

  // points (B, N, 2) -> tours (B, S, N) and log-probabilities of their steps, of the same shape.
  [[nodiscard]] py::tuple roll_out(const Doubles& points, std::size_t tours_each, const RolloutCall& call) const {
    if (points.ndim() != 3) throw InputError(fmt::format("points has shape {}; wanted: (B, N, 2)", shape_text(points)));
    const auto shape = std::array{points.shape(0), static_cast<py::ssize_t>(tours_each), points.shape(1)};
    Integers tours(shape);
    Doubles log_probs(shape);
    std::int64_t* out_tours = tours.mutable_data();
    double* out_log_probs = log_probs.mutable_data();
    const std::size_t nodes = dim(points, 1);
    run(points, tours_each, {}, call, [&](std::size_t index, const Rollout& rollout) {
      std::copy(rollout.order.begin(), rollout.order.end(), out_tours + index * nodes);
      std::copy(rollout.log_probs.begin(), rollout.log_probs.end(), out_log_probs + index * nodes);
    });
    return py::make_tuple(tours, log_probs);
  }

  // Shapes as of batch_shape(); the log-probabilities of all steps.
  [[nodiscard]] Doubles log_probs(const Doubles& points, const Integers& tours, bool raw_coordinates,
                                  int threads) const {
    const BatchShape shape = batch_shape(points, tours);
    const std::vector<NodeId> given = tours_of(tours, shape.nodes, "tours");
    Doubles result(shape_of(tours));
    double* out = result.mutable_data();
    run(points, shape.tours_each, given, {false, 1, 0, raw_coordinates, threads},
        [&](std::size_t index, const Rollout& rollout) {
          std::copy(rollout.log_probs.begin(), rollout.log_probs.end(), out + index * shape.nodes);
        });
    return result;
  }

 private:
  // Calls take(index, rollout) for the tours of all instances; `given` are whole tours to score, or none.
  template <typename Take>
  void run(const Doubles& points, std::size_t tours_each, std::span<const NodeId> given, const RolloutCall& call,
           const Take& take) const {
    const auto all_points = points_of(points);
    const std::size_t count = points.ndim() == 2 ? 1 : dim(points, 0);
    const std::size_t nodes = dim(points, points.ndim() - 2);
    if (nodes == 0 && count > 0) throw InputError("points has no nodes");
    if (!(call.temperature > 0)) throw InputError(fmt::format("temperature is {}; wanted: above 0", call.temperature));
    run_interruptibly([&](std::atomic<bool>& stop) {
      const Deadline deadline = Deadline().with_stop_flag(&stop);
      for (std::size_t first = 0; first < count && !stop; first += kInstancesAtOnce) {
        std::vector<std::unique_ptr<EncodedInstance>> encoded(std::min(kInstancesAtOnce, count - first));
        parallel_for(encoded.size(), call.threads, [&](std::size_t i) {
          const auto view = all_points.subspan((first + i) * nodes, nodes);
          const std::vector<Point> seen =
              call.raw_coordinates ? std::vector<Point>(view.begin(), view.end()) : policy_->scaled(view);
          encoded[i] = policy_->encode(seen, {.threads = count == 1 ? call.threads : 1, .deadline = deadline});
        });
        if (stop) return;
        std::vector<RolloutTask> tasks(encoded.size() * tours_each);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
          const std::size_t index = first * tours_each + i;
          tasks[i].instance = encoded[i / tours_each].get();
          tasks[i].options.sample = call.sample;
          tasks[i].options.temperature = call.temperature;
          tasks[i].options.deadline = deadline;
          if (!given.empty()) tasks[i].options.prefix = given.subspan(index * nodes, nodes);
          tasks[i].rng = Rng(call.seed, {first + i / tours_each, i % tours_each});
        }
        const std::vector<Rollout> rollouts = roll_out_all(*policy_, tasks, call.threads);
        if (stop) return;
        for (std::size_t i = 0; i < rollouts.size(); ++i) take(first * tours_each + i, rollouts[i]);
      }
    });
  }

  Checkpoint checkpoint_;
  std::unique_ptr<Policy> policy_;
};

}  // namespace

void bind_models(py::module_& module) {
  py::class_<Model>(module, "Model")
      .def(py::init<const std::string&>(), py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("architecture", &Model::architecture)
      .def_property_readonly("config", &Model::config)
      .def_property_readonly("num_parameters", &Model::parameters)
      .def_property_readonly("notes", &Model::notes)
      .def("solve", &Model::solve, py::arg("instance"), py::arg("decode"), py::arg("augment"), py::arg("temperature"),
           py::arg("improve"), py::arg("precision"), py::arg("raw_coordinates"), py::arg("threads"),
           py::arg("time_limit"), py::arg("seed"), py::arg("initial"), py::arg("bound"), py::arg("progress"))
      .def(
          "rollout",
          [](const Model& model, const Doubles& points, std::size_t tours_each, bool sample, double temperature,
             std::uint64_t seed, bool raw_coordinates, int threads) {
            return model.roll_out(points, tours_each, {sample, temperature, seed, raw_coordinates, threads});
          },
          py::arg("points").noconvert(), py::arg("tours_each"), py::arg("sample"), py::arg("temperature"),
          py::arg("seed"), py::arg("raw_coordinates"), py::arg("threads"))
      .def("log_probs", &Model::log_probs, py::arg("points").noconvert(), py::arg("tours").noconvert(),
           py::arg("raw_coordinates"), py::arg("threads"));
}

}  // namespace puretour::python

#include "tests/core/engine/random_training.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/core/engine/random_layers.h"

namespace asyncgrad::tests {

namespace {

// Examples in slow files, one of which may be damaged.
struct SlowFiles {
  bool has_damage = false;

  std::int64_t size() const { return 10; }
  std::vector<float> operator[](std::int64_t i) const {
    std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
    if (has_damage && i == 7) throw std::runtime_error("the file is damaged");
    std::vector<float> example(256);
    for (std::size_t k = 0; k < example.size(); ++k)
      example[k] = static_cast<float>(k % 17) / 8 - static_cast<float>(i) / 4;
    return example;
  }
};

class Training {
 public:
  explicit Training(const ProgramOptions& options)
      : options_(options),
        random_(options.seed),
        layers_(random_, generator_, weights_, options.devices.back()),
        files_({.has_damage = options.with_failures}, {.batch_size = 4, .seed = options.seed}),
        waits_(options) {
    findings_.earlier_limits.resize(options.devices.size());
    set_warnings(false);  // a network that is drawn may lack the table of the optimiser
    checkpoint_.add("weights", weights_).add("table", table_sgd_).add("generator", generator_).add("files", files_);
  }

  Findings run() {
    const Interruption& interruption = options_.interruption;
    if (interruption.is_resumed) checkpoint_.load(interruption.file);
    for (int step = interruption.is_resumed ? interruption.step : 0; step < options_.steps; ++step) {
      random_.seed(1000 * options_.seed + static_cast<std::uint64_t>(step));
      const bool is_there = !interruption.file.empty() && step == interruption.step;
      if (is_there && !interruption.is_resumed) keep(interruption.file);
      take_step();
      waits_.after_step();
    }
    for (const Tensor& tensor : kept_) look_at(tensor);
    for (const Tensor& parameter : weights_.parameters()) look_at(parameter);
    look_at(weights_.running_mean());
    return std::move(findings_);
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  void look_at(const Tensor& tensor) { findings_.seen.push_back(text_of(tensor)); }
  // Looks at the tensor now, in the middle of the training, or at its end.
  void look_now_or_later(const Tensor& tensor) {
    if (draw(4) == 0) {
      look_at(tensor);
    } else {
      kept_.push_back(tensor);
    }
  }

  void keep(const std::string& file) {
    findings_.seen.clear();
    kept_.clear();
    for (Tensor parameter : weights_.parameters()) parameter.zero_grad();
    checkpoint_.save_queued(file);
  }

  void take_step() {
    const Tensor x = parameter(draw_examples());
    const std::size_t order = draw(4);
    layers_.draw_for_second_order(order == 0);
    std::vector<RandomLayers::Layer> network;
    const std::size_t count = 1 + draw(6);
    for (std::size_t i = 0; i < count; ++i) network.push_back(layers_.draw());
    const bool fails = options_.with_failures && draw(3) == 0;
    if (fails) {
      network.insert(network.begin() + static_cast<std::ptrdiff_t>(draw(network.size())), layers_.draw_fault());
      ++findings_.faults;
    }
    Tensor h = x;
    for (const RandomLayers::Layer& layer : network) h = layer(h);
    learn(x, loss_of(h.reshape({-1, 16})), order);
    if (options_.with_failures && draw(3) == 0) begin_again();
  }

  Tensor draw_examples() {
    if (draw(3) == 0) {
      std::optional<std::vector<Tensor>> batch = files_.next();
      if (!batch) batch = files_.next();  // of the next epoch
      return batch->front();
    }
    const std::int64_t counts[] = {1, 3, 40};
    return randn({counts[draw(std::size(counts))], 256}, {.generator = &generator_});
  }

  // Recovers and goes on. Parameters whose update failed have the values that they had before it.
  void begin_again() {
    for (std::size_t i = 0; i < options_.devices.size(); ++i) {
      const std::int64_t limit = memory_figures(options_.devices[i]).budget_bytes;
      findings_.earlier_limits[i] = std::max(findings_.earlier_limits[i], limit);
    }
    findings_.faults += recover();
  }

  Tensor loss_of(const Tensor& h) {
    if (draw(2) == 0) return mean(square(h - 0.25));
    return mean(cross_entropy(h, randint(0, 16, {h.size(0)}, {.generator = &generator_})));
  }

  void learn(const Tensor& x, const Tensor& loss, std::size_t order) {
    look_now_or_later(loss.detach());
    switch (order) {
      case 0: {  // the gradient of a gradient
        const Tensor gradient = grad(loss, x, {}, {.create_graph = true})[0];
        look_now_or_later(gradient.detach());
        (loss + mean(square(gradient))).backward();
        break;
      }
      case 1:
        loss.backward(/*retain_graph=*/true);
        loss.backward();
        break;
      default:
        loss.backward();
        break;
    }
    look_now_or_later(x.grad());
    update();
  }

  void update() {
    const std::vector<Tensor> parameters = weights_.parameters();
    if (draw(2) == 0) look_now_or_later(optim::clip_norm(parameters, 1).to(float32));
    const NoGrad no_grad;
    table_sgd_.step();
    if (draw(4) != 0) table_sgd_.zero_grad();  // else the next step adds to it
    for (Tensor parameter : parameters) {
      if (parameter.impl() == weights_.table().impl()) continue;
      if (!parameter.grad().defined()) continue;
      parameter -= parameter.grad() * 0.0625;
      if (draw(4) != 0) parameter.zero_grad();
    }
  }

  const ProgramOptions& options_;
  std::mt19937_64 random_;
  Generator generator_{7};
  RandomWeights weights_{generator_};
  optim::SGD table_sgd_{{weights_.table()}, {.lr = 0.0625, .momentum = 0.5}};
  RandomLayers layers_;
  data::Batches<SlowFiles> files_;
  Checkpoint checkpoint_;
  StepWaits waits_;
  std::vector<Tensor> kept_;  // to be looked at in the end
  Findings findings_;
};

}  // namespace

Findings run_training(const ProgramOptions& options) { return Training(options).run(); }

}  // namespace asyncgrad::tests

// Steps of trainings on the processes that mpiexec has started, or on one alone, timed. Rank 0 prints a line of JSON.
//
//   mpiexec -n RANKS dist_steps (chapter | mlp) --workers N [--parts P] [--bytes-per-second B]
//
// chapter: that of chapter_step.h, of which each rank has its share of the 1024 rows. mlp: sixteen layers of 512, a batch
// of 512 rows on each rank. --parts: in parts, see dist::Parts. --bytes-per-second: a simulated link, see WorldOptions.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "figures.h"

namespace ag = asyncgrad;

namespace {

constexpr int warm_steps = 5, steps = 20, repeats = 3;

struct Training {
  ag::nn::Sequential net;
  std::int64_t rows, features;
};

Training training_of(const std::string& name, const ag::dist::World& world) {
  if (name == "chapter") {
    return {{ag::nn::Dense(512, 2048, ag::relu), ag::nn::Dense(2048, 512, ag::relu), ag::nn::Dense(512, 1)},
            1024 / world.size(),
            512};
  }
  Training training{{}, 512, 512};
  for (int i = 0; i < 15; ++i) training.net.add(ag::nn::Dense(512, 512, ag::relu));
  training.net.add(ag::nn::Dense(512, 1));
  return training;
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "chapter";
  ag::EngineOptions options;
  ag::dist::WorldOptions world_options;
  int part_count = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--workers") == 0 && i + 1 < argc) {
      options.workers = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--parts") == 0 && i + 1 < argc) {
      part_count = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--bytes-per-second") == 0 && i + 1 < argc) {
      world_options.bytes_per_second = std::atof(argv[++i]);
    } else {
      name = argv[i];
    }
  }
  ag::set_engine_options(options);
  const ag::dist::World world = ag::dist::world(world_options);
  const Training training = training_of(name, world);
  ag::optim::SGD sgd(ag::nn::parameters(training.net), {.lr = 0.01});
  ag::dist::broadcast(training.net, world);
  std::optional<ag::dist::Parts> parts;
  if (part_count > 0) parts.emplace(world, part_count, ag::Location::current());
  const auto backward = [&](const ag::Tensor& x, const ag::Tensor& y) {
    ag::mean(ag::nn::l2_loss(training.net(x), y)).backward();
  };
  const auto run = [&](int count) {
    for (int step = 0; step < count; ++step) {
      const ag::Tensor x = ag::randn({training.rows, training.features}), y = ag::ones({training.rows, 1});
      sgd.zero_grad();
      if (parts) {
        for (const int part : parts->mine()) {
          backward(parts->rows(x, part), parts->rows(y, part));
          parts->add(sgd);
        }
        parts->average(sgd);
      } else {
        backward(x, y);
        ag::dist::average_gradients(sgd, world);
      }
      sgd.step();
    }
    ag::wait_all();
  };
  run(warm_steps);
  const ag::dist::Figures before = world.figures();
  std::vector<double> step_s;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double start = ag::benchmarks::seconds();
    run(steps);
    step_s.push_back((ag::benchmarks::seconds() - start) / steps);
  }
  std::ranges::sort(step_s);
  const ag::dist::Figures after = world.figures();
  const ag::dist::Figures during{.moving_s = after.moving_s - before.moving_s,
                                 .exposed_s = after.exposed_s - before.exposed_s};
  if (world.rank() == 0) {
    fmt::print("{{\"ranks\": {}, \"step_s\": {:.6f}, \"moving_s\": {:.6f}, \"hidden_share\": {:.4f}}}\n", world.size(),
               step_s[repeats / 2], during.moving_s / (steps * repeats), during.hidden_share());
  }
}

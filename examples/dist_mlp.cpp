// Trains an MLP on several processes, each of which has its rows of every batch:
//   mpiexec -n 2 dist_mlp [--parts N] [--json FILE]
// Alone it is the same training on one process. With --parts 8 the parameters have the same bits on 1, 2, 4 or 8.
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

// Points on a curve.
struct Curve {
  std::int64_t size() const { return 2048; }
  std::pair<std::vector<float>, float> operator[](std::int64_t i) const {
    const float x = static_cast<float>(i) / 2048;
    return {{x, x * x, 1 - x}, 2 * x * x - x};
  }
};

// The FNV-1a hash of the parameters' bits.
std::uint64_t hash_of(const std::vector<ag::Tensor>& parameters) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const ag::Tensor& parameter : parameters) {
    for (const float value : parameter.to_vector<float>()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      for (int i = 0; i < 4; ++i) hash = (hash ^ (bits >> (8 * i) & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

struct Options {
  int parts = 0;  // 0: none, so that the sums depend on the number of ranks
  std::string json{};
};

int parts_of(const std::string& text) {
  int parts = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, parts);
  if (error != std::errc() || stop != end || parts < 1) {
    throw std::invalid_argument("--parts: '" + text + "' is not a number of parts, 1 or more");
  }
  return parts;
}

// Throws std::invalid_argument for anything else.
Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc || (name != "--parts" && name != "--json")) {
      throw std::invalid_argument("usage: dist_mlp [--parts N] [--json FILE]");
    }
    if (name == "--parts") options.parts = parts_of(argv[i + 1]);
    if (name == "--json") options.json = argv[i + 1];
  }
  return options;
}

int main(int argc, char** argv) try {
  const Options options = options_of(argc, argv);
  const ag::dist::World world = ag::dist::world();
  const ag::nn::Sequential net{ag::nn::Dense(3, 256, ag::relu), ag::nn::Dense(256, 256, ag::relu),
                               ag::nn::Dense(256, 1)};
  ag::optim::Adam adam(ag::nn::parameters(net), {.lr = 1e-3});
  ag::dist::broadcast(net, world);
  std::optional<ag::dist::Parts> parts;
  if (options.parts > 0) parts.emplace(world, options.parts, ag::Location::current());
  ag::data::Batches batches(Curve(), {.batch_size = 256, .share = parts ? parts->share() : world.share()});

  constexpr int epochs = 20;
  ag::Tensor loss;  // of the last batch: the mean over this rank's rows
  int steps = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (const auto batch = batches.next()) {
      const auto loss_of = [&](const std::vector<ag::Tensor>& rows) {
        const ag::Tensor mean_of_rows = ag::mean(ag::nn::l2_loss(net(rows[0]), rows[1]));
        mean_of_rows.backward();
        return mean_of_rows.detach();
      };
      if (parts) {
        loss = ag::zeros(ag::Shape());
        for (const int part : parts->mine()) {
          loss += loss_of(parts->rows(*batch, part)) / parts->share().length;
          parts->add(adam);
        }
        parts->average(adam);
      } else {
        loss = loss_of(*batch);
        ag::dist::average_gradients(adam, world);  // queued, as all else
      }
      adam.step();
      adam.zero_grad();
      ++steps;
    }
  }
  ag::wait_all();
  const double step_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
  const ag::dist::Figures figures = world.figures();
  const bool has_sent = figures.moves > 0;  // not in a world of one

  const double mean_loss = ag::dist::sum(loss, world).item() / world.size();
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(hash_of(ag::nn::parameters(net))));
  if (world.rank() == 0) {
    const std::string hidden =
        has_sent ? std::to_string(std::lround(figures.hidden_share() * 100)) + " % hidden" : "nothing sent";
    std::printf("%d ranks, %d parts, %.2f ms a step, %s, loss %.2e, parameters_hash %s\n", world.size(), options.parts,
                step_s * 1e3, hidden.c_str(), mean_loss, hash.data());
    if (!options.json.empty()) {
      std::ofstream file(options.json);
      file << "{\"ranks\": " << world.size() << ", \"parts\": " << options.parts
           << ", \"hidden_share\": " << (has_sent ? std::to_string(figures.hidden_share()) : "null")
           << ", \"step_s\": " << step_s << ", \"parameters_hash\": \"" << hash.data() << "\"}\n";
      file.close();
      if (!file) throw std::runtime_error("--json: '" + options.json + "' cannot be written");
    }
  }
  return mean_loss < 1e-3 ? 0 : 1;
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

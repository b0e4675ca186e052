// The bits of every optimiser's parameters and state after some steps, which no change of a kernel may change. They are
// the same under every instruction set for which the kernels are compiled.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/optim/gradients.h"
#include "tests/support/instruction_sets.h"

namespace asyncgrad::optim {
namespace {

// Multiples of 2^-13 from -4 to 4, in which no library has a part.
Tensor numbers(const Shape& shape, DType dtype, std::uint32_t seed) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::uint32_t state = seed * 2654435761U + 1;
  for (double& value : values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<double>(state >> 16) - 32768) / 8192;
  }
  return Tensor::from(values, shape).to(dtype);
}

// FNV-1a over the bits of all tensors among the members.
class Hash : public nn::Members::Visitor {
 public:
  void value(const std::string&, nn::Value) override {}
  void tensor(const std::string&, Tensor& tensor) override { add(tensor); }

  void add(const Tensor& tensor) {
    const DType dtype = tensor.dtype();
    if (dtype == float32) return add_values(tensor.detach().to_vector<float>());
    if (dtype == float64) return add_values(tensor.detach().to_vector<double>());
    add_values(tensor.to_vector<std::int64_t>());
  }
  std::uint64_t sum() const { return sum_; }

 private:
  template <class T>
  void add_values(const std::vector<T>& values) {
    for (const T& value : values) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      for (std::size_t i = 0; i < sizeof(T); ++i) sum_ = (sum_ ^ (bits >> 8 * i & 0xFF)) * 1099511628211ULL;
    }
  }

  std::uint64_t sum_ = 14695981039346656037ULL;
};

using Parameters = std::vector<Tensor>;

template <class Kind, class Options>
std::uint64_t bits_of(DType dtype, const Options& options) {
  // Around vectors and cache lines, and more than a tile.
  const std::vector<Shape> shapes{{},   {0},  {3},    {7},       {8},     {15},      {16},
                                  {17}, {31}, {1000}, {3, 5, 7}, {65537}, {300, 250}};
  Parameters parameters;
  std::uint32_t seed = 0;
  for (const Shape& shape : shapes) parameters.push_back(parameter(numbers(shape, dtype, ++seed)));
  Kind optimizer(parameters, options);
  for (std::size_t step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if ((step + i) % 4 != 3) sum(parameters[i] * numbers(shapes[i], dtype, ++seed)).backward();
    }
    optimizer.step();
  }
  Hash hash;
  for (const Tensor& parameter : parameters) hash.add(parameter);
  nn::Members::visit(optimizer, hash);
  return hash.sum();
}

struct Bits {
  std::uint64_t in_float32, in_float64;
  bool operator==(const Bits&) const = default;
};

template <class Kind, class Options>
Bits bits_of(const Options& options) {
  return {bits_of<Kind>(float32, options), bits_of<Kind>(float64, options)};
}

std::map<std::string, Bits> bits_of_all() {
  const RMSpropOptions rmsprop{.lr = 0.1, .alpha = 0.9, .epsilon = 1e-3, .weight_decay = 0.1};
  RMSpropOptions centered = rmsprop, momentum = rmsprop, both = rmsprop;
  centered.centered = both.centered = true;
  momentum.momentum = both.momentum = 0.9;
  return {
      {"sgd", bits_of<SGD>(SGDOptions{.lr = 0.1})},
      {"sgd, decay", bits_of<SGD>(SGDOptions{.lr = 0.1, .weight_decay = 0.01})},
      {"sgd, momentum", bits_of<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01})},
      {"sgd, nesterov", bits_of<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true})},
      {"adam", bits_of<Adam>(AdamOptions{.lr = 0.01})},
      {"adam, decay", bits_of<Adam>(AdamOptions{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1})},
      {"adam_w", bits_of<AdamW>(AdamWOptions{.lr = 0.01, .weight_decay = 0.1})},
      {"adagrad", bits_of<Adagrad>(AdagradOptions{.lr = 0.1})},
      {"adagrad, all",
       bits_of<Adagrad>(AdagradOptions{.lr = 0.1, .epsilon = 0.25, .weight_decay = 0.1, .initial_accumulator = 0.5})},
      {"rmsprop", bits_of<RMSprop>(rmsprop)},
      {"rmsprop, centered", bits_of<RMSprop>(centered)},
      {"rmsprop, momentum", bits_of<RMSprop>(momentum)},
      {"rmsprop, both", bits_of<RMSprop>(both)}};
}

// Recorded when the CPU's loops and CUDA's kernels still had formulas of their own.
const std::map<std::string, Bits> recorded = {
    {"adagrad", {0x5A81B403A8D20BC5, 0x8CCDC96DA9372E90}},
    {"adagrad, all", {0x6E4617C9FC8BB5CB, 0x91D031EA66602E94}},
    {"adam", {0x4FD683F23F83A7CF, 0x4ADF657C6BA61854}},
    {"adam, decay", {0x6178C835C8A5A091, 0x9779A2E21A52D896}},
    {"adam_w", {0x5E37D6FABE9349A9, 0x56E589FFB68FC842}},
    {"rmsprop", {0xB40AEFDE08A31243, 0xE3AB6CD4FFCB3505}},
    {"rmsprop, both", {0x17485479C8BE92C5, 0x863468977B911920}},
    {"rmsprop, centered", {0x259153C01F3772C9, 0x134EC4393148437C}},
    {"rmsprop, momentum", {0x2400AD9EBA5DC0D1, 0x43B4DFD360961747}},
    {"sgd", {0x1E50288D239DD2E7, 0xD4BC53A9598D9339}},
    {"sgd, decay", {0x902140EBB89B8292, 0xA871D339C0B22757}},
    {"sgd, momentum", {0xFE503AFCB154F939, 0xCC4C75D805906C76}},
    {"sgd, nesterov", {0xA7941326E72516FA, 0x2DB3729330BBD2AA}},
};

std::string differences() {
  std::string names;
  for (const auto& [name, bits] : bits_of_all()) {
    if (bits != recorded.at(name)) names += name + "; ";
  }
  return names;
}

TEST(OptimizerBits, AreWhatTheyWere) { EXPECT_EQ(differences(), ""); }

bool are_no_differences() {
  const std::string names = differences();
  std::fputs(names.c_str(), stderr);
  return names.empty();
}

TEST(OptimizerBitsDeathTest, AreTheSameUnderEveryInstructionSet) {
  tests::expect_under_every_instruction_set(are_no_differences);
}

}  // namespace
}  // namespace asyncgrad::optim

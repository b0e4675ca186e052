// Random trainings in parts.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/dist/thread_transport.h"

namespace asyncgrad::tests {

// The bytes of all values, which tell -0 from 0.
inline std::string bytes_of(const std::vector<Tensor>& tensors) {
  std::string bytes;
  const auto append = [&](const auto& values) {
    if (values.empty()) return;
    const std::size_t before = bytes.size(), size = values.size() * sizeof(values[0]);
    bytes.resize(before + size);
    std::memcpy(&bytes[before], values.data(), size);
  };
  for (const Tensor& tensor : tensors) {
    tensor.dtype() == float64 ? append(tensor.to_vector<double>()) : append(tensor.to_vector<float>());
  }
  return bytes;
}

// The numbers that a checkpoint keeps of `parts`, by name.
inline std::map<std::string, std::int64_t*> kept_numbers(dist::Parts& parts) {
  struct Numbers final : nn::Members::Visitor {
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override { places[path] = std::get<std::int64_t*>(value); }
    std::map<std::string, std::int64_t*> places;
  } numbers;
  nn::Members::visit(parts, numbers);
  return numbers.places;
}

// A random training. Everything follows from the seed: its layers, its data, its optimiser.
class RandomTraining {
 public:
  explicit RandomTraining(std::uint64_t seed) : random_(seed) {
    dtype_ = one_in(3) ? float64 : float32;
    has_norm_ = one_in(2) || seed == 0;
    drops_ = one_in(2) || seed == 0;
    recomputes_ = one_in(3);
    inner_ = Inner{.dense = nn::Dense(width, width, tanh, {.dtype = dtype_}),
                   .norm = nn::BatchNorm(width, {.dtype = dtype_}),
                   .has_norm = has_norm_,
                   .drops = drops_};
    std::vector<Tensor> parameters = nn::parameters(inner_);
    for (const nn::Dense& dense : {first_of(dtype_), sometimes_of(dtype_), never_of(dtype_), last_of(dtype_)}) {
      outer_.push_back(dense);
      for (const Tensor& parameter : nn::parameters(outer_.back())) parameters.push_back(parameter);
    }
    table_ = nn::Embedding(7, width, {.row_gradients = one_in(2), .dtype = dtype_});
    for (const Tensor& parameter : nn::parameters(table_)) parameters.push_back(parameter);
    parameters_ = parameters;
    if (one_in(2)) {
      optimizer_ = std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = 0.01});
    } else {
      optimizer_ = std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
    }
  }

  void step(dist::Parts& parts, int number) {
    const Tensor x = data(number), index = indices(number);
    const data::Share share = parts.share();
    const std::int64_t rows = rows_of_batch / share.count;
    const auto own = range(share.index * rows, (share.index + share.length) * rows);
    for (const int part : parts.mine()) {
      const std::vector<Tensor> of_part = parts.rows(std::vector<Tensor>{x(own), index(own)}, part);
      loss(of_part[0], of_part[1], (part + number) % 3 == 0).backward();
      parts.add(*optimizer_);
    }
    parts.average(*optimizer_);
    optimizer_->step();
    optimizer_->zero_grad();
  }

  std::string bytes() const {
    std::vector<Tensor> all = parameters_;
    all.push_back(inner_.norm.running_mean);
    all.push_back(inner_.norm.running_var);
    return bytes_of(all);
  }

  static constexpr std::int64_t rows_of_batch = 32;

 private:
  static constexpr std::int64_t width = 6;

  struct Inner {
    nn::Dense dense{1, 1};
    nn::BatchNorm norm{1};
    bool has_norm = false, drops = false;
    Tensor operator()(const Arg& x) const {
      Tensor h = dense(x);
      if (has_norm) h = norm(h);
      return drops ? dropout(h, 0.3) : h;
    }
    void members(nn::Members& m) {
      m("dense", dense);
      m("norm", norm);
    }
  };

  static nn::Dense first_of(DType dtype) { return nn::Dense(5, width, relu, {.dtype = dtype}); }
  static nn::Dense sometimes_of(DType dtype) { return nn::Dense(width, width, {.dtype = dtype}); }
  static nn::Dense never_of(DType dtype) { return nn::Dense(width, width, {.dtype = dtype}); }
  static nn::Dense last_of(DType dtype) { return nn::Dense(width, 1, {.dtype = dtype}); }

  bool one_in(int count) { return random_() % static_cast<unsigned>(count) == 0; }
  Tensor data(int number) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows_of_batch * 5; ++i) {
      const std::uint64_t bits = data::split_mix(static_cast<std::uint64_t>(number * 1000 + i));
      values.push_back(static_cast<float>(bits >> 40) * 0x1p-22F - 2.0F);
    }
    return Tensor::from(values, {rows_of_batch, 5}).to(dtype_);
  }
  static Tensor indices(int number) {
    std::vector<std::int64_t> values;
    for (int i = 0; i < rows_of_batch; ++i) values.push_back((i * i + number) % 7);
    return Tensor::from(values, {rows_of_batch});
  }
  Tensor loss(const Tensor& x, const Tensor& index, bool sometimes) const {
    Tensor h = outer_[0](x) + table_(index);
    h = recomputes_ ? nn::recompute(inner_, h) : inner_(h);
    if (sometimes) h = h + outer_[1](h);
    return mean(nn::l2_loss(outer_[3](h), sum(x, 1, true)));
  }

  std::mt19937_64 random_;
  DType dtype_ = float32;
  bool has_norm_ = false, drops_ = false, recomputes_ = false;
  Inner inner_;
  std::vector<nn::Dense> outer_;
  nn::Embedding table_{1, 1};
  std::vector<Tensor> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

inline std::string trained_as(const dist::World& world, std::uint64_t seed, int count, int steps) {
  Generator generator(seed + 100);
  const GeneratorScope scope(generator);
  RandomTraining training(seed);
  dist::Parts parts(world, count);
  for (int step = 0; step < steps; ++step) training.step(parts, step);
  return training.bytes();
}

inline std::string trained(int ranks, std::uint64_t seed, int count = 8, int steps = 4) {
  std::vector<std::string> bytes(static_cast<std::size_t>(ranks));
  as_ranks(ranks, [&](const dist::World& world) {
    bytes[static_cast<std::size_t>(world.rank())] = trained_as(world, seed, count, steps);
  });
  for (const std::string& others : bytes) EXPECT_TRUE(others == bytes[0]) << ranks << " ranks, seed " << seed;
  return bytes[0];
}

}  // namespace asyncgrad::tests

// A C++ program beside the Python tests: what it saves is loaded in Python, and the other way round.
//
//   exchange layers FILE    writes a network's tensors to FILE, and to FILE.y what it computes of the input
//   exchange check FILE     reads FILE and fails unless the network computes FILE.y
//   exchange training FILE  trains, writes a checkpoint to FILE, trains on, and writes the tensors to FILE.end
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "asyncgrad/asyncgrad.h"

namespace ag = asyncgrad;

namespace {

auto network() {
  return ag::nn::Sequential{ag::nn::Conv2d(3, 4, 3, ag::relu, {.padding = 1}),
                            ag::nn::BatchNorm(4),
                            ag::nn::MaxPool2d(2),
                            [](const ag::Arg& x) {
                              return ag::reshape(x, {2, 8, 8});
                            },
                            ag::nn::TransformerBlock(8, 2, {.hidden_features = 16}),
                            ag::nn::GRU(8, 6),
                            ag::nn::LayerNorm(ag::Shape{6}),
                            ag::nn::Residual(ag::nn::Dense(6, 6, ag::tanh)),
                            ag::nn::Dense(6, 3)};
}

ag::Tensor input() { return ag::reshape(ag::arange(0, 2 * 3 * 8 * 8, 1, {.dtype = ag::float32}), {2, 3, 8, 8}) / 100; }

struct Output {
  ag::Tensor y;
  void members(ag::nn::Members& m) { m("y", y); }
};

template <class Network>
ag::Tensor computed(Network& net) {
  const ag::Evaluation evaluation;
  const ag::NoGrad no_grad;
  return net(input());
}

void write_layers(const std::string& file) {
  auto net = network();
  // The running statistics become those of data.
  static_cast<void>(net(input()));
  ag::nn::save(file, net);
  ag::nn::save(file + ".y", Output{computed(net)});
}

bool check_layers(const std::string& file) {
  auto net = network();
  ag::nn::load(file, net);
  const ag::Tensor y = computed(net);
  Output expected{ag::zeros(y.shape())};
  ag::nn::load(file + ".y", expected);
  return ag::all(ag::equal(y, expected.y)).item() != 0;
}

void write_training(const std::string& file) {
  ag::default_generator() = ag::Generator(7);
  ag::nn::Sequential net{ag::nn::Dense(4, 8, ag::relu), ag::nn::Dense(8, 1)};
  ag::optim::Adam adam(ag::nn::parameters(net), {.lr = 0.01});
  const auto train = [&] {
    for (int i = 0; i < 3; ++i) {
      const ag::Tensor x = ag::randn({8, 4}), y = ag::randn({8, 1});
      adam.zero_grad();
      ag::mean(ag::nn::l2_loss(net(x), y)).backward();
      adam.step();
    }
  };
  ag::Checkpoint checkpoint;
  checkpoint.add("net", net).add("adam", adam).add("random", ag::default_generator());
  train();
  checkpoint.save(file);
  train();
  ag::nn::save(file + ".end", net);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const std::string file = argv[2];
  try {
    if (what == "check") return check_layers(file) ? 0 : 1;
    what == "layers" ? write_layers(file) : write_training(file);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

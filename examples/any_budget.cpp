// Trains a network in less memory than its serial peak, by computing values again, and shows what that costs.
#include <memory>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/budgets.h"
#include "examples/support/gpt.h"
#include "examples/support/resnet.h"

namespace ag = asyncgrad;

// `loss(net)` queues a forward pass.
template <class Net, class Loss>
budgets::Training training_of(Net made, Loss loss) {
  const auto net = std::make_shared<Net>(std::move(made));
  const std::vector<ag::Tensor> parameters = ag::nn::parameters(*net);
  ag::optim::SGD sgd(parameters, {.lr = 1e-3});
  return {[=]() mutable {
            loss(*net).backward();
            sgd.step();
            sgd.zero_grad();
          },
          parameters};
}

// x + down(relu(up(x))).
struct ResidualBlock {
  ag::nn::Dense up{256, 1024, ag::relu}, down{1024, 256};

  ag::Tensor operator()(const ag::Tensor& x) const { return x + down(up(x)); }
  void members(ag::nn::Members& m) {
    m("up", up);
    m("down", down);
  }
};

budgets::Training residual_mlp(std::int64_t batch_size) {
  ag::nn::Sequential net;
  for (int i = 0; i < 16; ++i) net.add(ResidualBlock());
  return training_of(std::move(net), [x = ag::randn({batch_size, 256})](const ag::nn::Sequential& layers) {
    return ag::mean(ag::square(layers(x)));
  });
}

budgets::Training gpt_training(std::int64_t batch_size) {
  const gpt::Sizes sizes{.layers = 6, .features = 256, .heads = 8, .context = 256};
  const text::Text text = text::read(text::default_path(), sizes.context);
  return training_of(gpt::Model(text.characters(), /*dropout=*/0.1, sizes), [=](const gpt::Model& model) {
    const gpt::Batch batch = gpt::random_batch(text, batch_size, sizes.context);
    return gpt::loss(model, batch.indices, batch.next);
  });
}

budgets::Training resnet_training(std::int64_t batch_size) {
  const ag::Tensor images = ag::randn({batch_size, 3, 224, 224}), labels = ag::randint(0, 10, {batch_size});
  return training_of(resnet::resnet18({}), [=](const ag::nn::Sequential& net) {
    return ag::mean(ag::nn::softmax_cross_entropy(net(images), labels));
  });
}

int main(int argc, char** argv) {
  return budgets::compare(
      argc, argv, {{"residual_mlp", residual_mlp, 8192}, {"gpt", gpt_training, 32}, {"resnet", resnet_training, 32}});
}

// Trains a network of two layers to read handwritten digits, and tests it on digits that it has not seen.
#include <algorithm>
#include <random>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/digits_data.h"
#include "examples/support/digits_options.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

namespace {

// The share of images whose likeliest digit is the right one.
double accuracy(const ag::nn::Sequential& net, const digits::Data& data) {
  const ag::Inference inference;
  const ag::Tensor answers = ag::argmax(net(data.images), 1);
  return ag::mean(ag::equal(answers, data.labels).to(ag::float32)).item();
}

void train(const digits::Options& options) {
  const digits::Split data = digits::load(options.data);
  const std::int64_t count = data.train.size();
  support::print("{} images to learn from, {} held out\n", count, data.held_out.size());

  ag::manual_seed(options.seed);
  std::mt19937_64 random(options.seed);
  ag::nn::Sequential net{ag::nn::Dense(digits::pixels, 128, ag::relu), ag::nn::Dense(128, digits::classes)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = options.lr, .momentum = 0.9});

  std::vector<digits::Epoch> epochs;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const ag::Tensor order = digits::shuffled(count, random);
    ag::Tensor epoch_loss = ag::zeros({});
    for (std::int64_t begin = 0; begin < count; begin += options.batch_size) {
      const ag::Tensor batch = order.slice(begin, std::min(begin + options.batch_size, count));
      const ag::Tensor x = ag::take(data.train.images, batch), y = ag::take(data.train.labels, batch);
      const ag::Tensor losses = ag::nn::softmax_cross_entropy(net(x), y);
      epoch_loss += ag::sum(losses.detach());
      sgd.zero_grad();
      ag::mean(losses).backward();
      sgd.step();
    }
    // item() is the first wait of the epoch: everything above was only queued.
    epochs.push_back(
        {.loss = epoch_loss.item() / static_cast<double>(count), .accuracy = accuracy(net, data.held_out)});
    support::print("epoch {:2}  loss {:.4f}  held-out accuracy {:.2f} %\n", epoch, epochs.back().loss,
                   100 * epochs.back().accuracy);
  }
  digits::write_json(options, data, epochs);
}

}  // namespace

int main(int argc, char** argv) { return digits::run(argc, argv, train); }

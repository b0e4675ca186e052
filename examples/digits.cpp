// Trains a network of two layers to read handwritten digits, and tests it on digits that it has not seen.
#include <optional>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/digits_data.h"
#include "examples/support/digits_options.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

namespace {

void train(const digits::Options& options) {
  const digits::Split data = digits::load(options.data);
  support::print("{} images to learn from, {} held out\n", data.train.size(), data.held_out.size());

  ag::manual_seed(options.seed);
  ag::nn::Sequential net{ag::nn::Dense(digits::pixels, 128, ag::relu), ag::nn::Dense(128, digits::classes)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = options.lr, .momentum = 0.9});
  ag::data::Batches batches(data.train, {.batch_size = options.batch_size, .seed = options.seed});

  std::vector<digits::Epoch> epochs;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    ag::Tensor epoch_loss = ag::zeros({});
    while (const std::optional<std::vector<ag::Tensor>> batch = batches.next()) {  // read by other threads
      const ag::Tensor &images = (*batch)[0], &labels = (*batch)[1];
      const ag::Tensor losses = ag::nn::softmax_cross_entropy(net(images), labels);
      epoch_loss += ag::sum(losses.detach());
      ag::mean(losses).backward();
      sgd.step();
      sgd.zero_grad();
    }
    // item() is the first wait of the epoch: everything above was only queued.
    epochs.push_back({.loss = epoch_loss.item() / static_cast<double>(data.train.size()),
                      .accuracy = digits::accuracy(ag::nn::Function(net), data.held_out)});
    support::print("epoch {:2}  loss {:.4f}  held-out accuracy {:.2f} %\n", epoch, epochs.back().loss,
                   100 * epochs.back().accuracy);
  }
  digits::write_json(options, data, epochs);
}

}  // namespace

int main(int argc, char** argv) { return digits::run(argc, argv, train); }

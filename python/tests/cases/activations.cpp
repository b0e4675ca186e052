// Layers that are an activation.
#include <string>

#include "python/tests/cases/case.h"

namespace cases {

void activations() {
  const auto plain = [](const char* name, const auto& made) {
    layer("nn." + std::string(name) + "()", {2, 3}, [&] { return made; });
  };
  plain("ReLU", nn::ReLU());
  plain("Sigmoid", nn::Sigmoid());
  plain("Tanh", nn::Tanh());
  plain("SiLU", nn::SiLU());
  plain("GELU", nn::GELU());
  plain("GELUTanh", nn::GELUTanh());
  plain("Softplus", nn::Softplus());
  plain("Softsign", nn::Softsign());
  plain("SELU", nn::SELU());
  plain("Hardswish", nn::Hardswish());
  plain("Mish", nn::Mish());
  plain("LeakyReLU", nn::LeakyReLU());
  plain("ELU", nn::ELU());
  plain("Softmax", nn::Softmax());
  plain("LogSoftmax", nn::LogSoftmax());
  layer("nn.LeakyReLU(slope=0.25)", {2, 3}, [] { return nn::LeakyReLU(0.25); });
  layer("nn.ELU(scale=0.25)", {2, 3}, [] { return nn::ELU(0.25); });
  layer("nn.Softmax(axis=0)", {2, 3}, [] { return nn::Softmax(0); });
  layer("nn.LogSoftmax(0)", {2, 3}, [] { return nn::LogSoftmax(0); });
  layer("nn.PReLU()", {2, 3}, [] { return nn::PReLU(); });
  layer("nn.PReLU(channels=3, initial_slope=0.5)", {2, 3, 2}, [] { return nn::PReLU(3, {.initial_slope = 0.5}); });
  refused("nn.PReLU(0)", [] { return nn::PReLU(0); });
  refused("nn.PReLU(3)(input((2, 4)))", [] { return nn::PReLU(3)(input({2, 4})); });
  defaults("nn.LeakyReLU", {{"slope", nn::LeakyReLU().slope}});
  defaults("nn.ELU", {{"scale", nn::ELU().scale}});
  defaults("nn.Softmax", {{"axis", nn::Softmax().axis}});
  defaults("nn.LogSoftmax", {{"axis", nn::LogSoftmax().axis}});
  defaults("nn.PReLU", {{"channels", 1}, {"initial_slope", nn::PReLUOptions{}.initial_slope}});
}

}  // namespace cases

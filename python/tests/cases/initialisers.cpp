#include <string>
#include <utility>

#include "python/tests/cases/case.h"

namespace cases {

void initialisers() {
  for (const auto& [name, function] :
       {std::pair("xavier_uniform",
                  nn::Initialiser(static_cast<ag::Tensor (*)(const ag::Shape&, ag::RandomOptions, ag::Location)>(
                      nn::xavier_uniform))),
        std::pair("xavier_normal", nn::Initialiser(nn::xavier_normal)),
        std::pair("he_uniform", nn::Initialiser(nn::he_uniform)),
        std::pair("he_normal", nn::Initialiser(nn::he_normal)), std::pair("normal()", nn::normal()),
        std::pair("normal(standard_deviation=0.5)", nn::normal(0.5)), std::pair("uniform()", nn::uniform()),
        std::pair("truncated_normal()", nn::truncated_normal()),
        std::pair("truncated_normal(standard_deviation=2, bound=0.5)", nn::truncated_normal(2, 0.5)),
        std::pair("orthogonal()", nn::orthogonal()), std::pair("orthogonal(gain=0.5)", nn::orthogonal(0.5)),
        std::pair("uniform(bound=0.5)", nn::uniform(0.5)), std::pair("constant(value=0.25)", nn::constant(0.25)),
        std::pair("zeros", nn::constant(0)), std::pair("ones", nn::constant(1))}) {
    for (const ag::Shape& shape : {ag::Shape{4, 3}, ag::Shape{0}}) {
      value(std::string("nn.init.") + name + "(" + (shape.rank() == 1 ? "(0,)" : "(4, 3)") + ")",
            [&, &function = function] { return hex(function(shape, {}, {})); });
    }
  }
  refused("nn.init.normal(-1)", [] { return nn::normal(-1); });
  refused("nn.init.truncated_normal(bound=0)", [] { return nn::truncated_normal(1, 0); });
  defaults("nn.init.normal", {{"standard_deviation", nn::initial_standard_deviation}});
  defaults("nn.init.uniform", {{"bound", nn::initial_bound}});
  defaults("nn.init.truncated_normal",
           {{"standard_deviation", nn::initial_standard_deviation}, {"bound", nn::initial_truncation}});
  defaults("nn.init.orthogonal", {{"gain", nn::initial_gain}});
}

}  // namespace cases

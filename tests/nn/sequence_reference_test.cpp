// Layers for sequences beside those of PyTorch: references/sequence.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <type_traits>

#include "tests/nn/references/references.h"

namespace asyncgrad::nn {
namespace {

using tests::expect_near;

using Named = std::map<std::string, Tensor>;

const Named& references() {
  static const Named tensors = tests::references("sequence.safetensors");
  return tensors;
}

// The tensors of one case.
class Reference {
 public:
  explicit Reference(std::string name) : name_(std::move(name)) {}

  const Tensor& operator[](const std::string& key) const { return references().at(name_ + "/" + key); }
  // Gives the layer PyTorch's values.
  template <class Layer>
  Layer with_values(Layer layer) const {
    const NoGrad no_grad;
    for (auto& [path, tensor] : state(layer)) tensor.copy_((*this)["state/" + path]);
    return layer;
  }
  // The results by name of layer(inputs), and the gradients of sum(result * dresult).
  template <class Layer>
  void check(const Layer& layer, const Named& inputs, const std::function<Named(const Named&)>& call) const {
    Named leaves;
    for (const auto& [key, tensor] : inputs) {
      leaves[key] = tensor.dtype() == float64 ? parameter(tensor.clone()) : tensor;
    }
    Tensor loss = zeros({}, {.dtype = float64});
    for (const auto& [key, result] : call(leaves)) {
      SCOPED_TRACE(key);
      expect_near(result, (*this)[key]);
      loss = loss + sum(result * (*this)["d" + key]);
    }
    loss.backward();
    for (const auto& [key, leaf] : leaves) {
      SCOPED_TRACE("gradient of " + key);
      if (leaf.requires_grad()) expect_near(leaf.grad(), (*this)["grad of " + key]);
    }
    for (const auto& [path, tensor] : state(layer)) {
      SCOPED_TRACE("gradient of " + path);
      expect_near(tensor.grad(), (*this)["grad/" + path]);
    }
  }
  // The same with a layer of one input, in training and in evaluation.
  template <class Layer>
  void check(const Layer& original) const {
    const auto call = [&](const Layer& layer) {
      return [&layer](const Named& in) { return Named{{"y", layer(in.at("x"))}}; };
    };
    const Layer layer = with_values(original), again = with_values(clone(original));
    check(layer, {{"x", (*this)["x"]}}, call(layer));
    const Evaluation evaluation;
    check(again, {{"x", (*this)["x"]}}, call(again));
  }

 private:
  std::string name_;
};

TEST(SequenceReferences, LayerNorm) { Reference("layer_norm").check(LayerNorm(6, {.dtype = float64})); }
TEST(SequenceReferences, RMSNorm) { Reference("rms_norm").check(RMSNorm(6, {.dtype = float64})); }
TEST(SequenceReferences, Embedding) { Reference("embedding").check(Embedding(5, 3, {.dtype = float64})); }

Named by_name(const RecurrentResult& result) {
  Named named{{"y", result.output}, {"h", result.h}};
  if (result.c.defined()) named["c"] = result.c;
  return named;
}

// With two layers in both directions, lengths and the states before the first step.
template <class Layer>
void check_deep(const std::string& name, const Layer& original) {
  SCOPED_TRACE(name);
  const Reference deep(name);
  const Layer layer = deep.with_values(original);
  constexpr bool has_c = std::is_same_v<Layer, LSTM>;
  Named inputs{{"x", deep["x"]}, {"h0", deep["h0"]}};
  if (has_c) inputs["c0"] = deep["c0"];
  deep.check(layer, inputs, [&](const Named& in) {
    return by_name(
        layer.run(in.at("x"), {.lengths = deep["lengths"], .h = in.at("h0"), .c = has_c ? in.at("c0") : Tensor()}));
  });
}

template <class Layer>
void check_recurrent(const std::string& kind, const std::function<Layer(const RecurrentOptions&)>& make) {
  const Reference simple(kind);
  const Layer layer = simple.with_values(make({.dtype = float64}));
  simple.check(layer, {{"x", simple["x"]}}, [&](const Named& in) { return by_name(layer.run(in.at("x"))); });
  RecurrentOptions options{.layers = 2, .both_directions = true, .dtype = float64};
  check_deep(kind + "_deep", make(options));
  if (kind == "rnn_relu") return;
  options.dropout = 1;
  check_deep(kind + "_dropping_in_training", make(options));
  const Evaluation evaluation;
  check_deep(kind + "_dropping_in_evaluation", make(options));
}

TEST(SequenceReferences, RNN) {
  check_recurrent<RNN>("rnn_tanh", [](const RecurrentOptions& options) { return RNN(2, 4, options); });
  check_recurrent<RNN>("rnn_relu",
                       [](const RecurrentOptions& options) { return RNN(2, 4, options, RnnActivation::relu); });
}
TEST(SequenceReferences, GRU) {
  check_recurrent<GRU>("gru", [](const RecurrentOptions& options) { return GRU(2, 4, options); });
}
TEST(SequenceReferences, LSTM) {
  check_recurrent<LSTM>("lstm", [](const RecurrentOptions& options) { return LSTM(2, 4, options); });
}

// Elements of a result whose reference is not 0 are the reference, or 0 where they were dropped.
void expect_kept_or_dropped(const Tensor& found, const Tensor& kept, const std::vector<bool>& is_kept) {
  const std::vector<double> x = found.to_vector<double>(), y = kept.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], is_kept[i] ? y[i] : 0, 1e-14) << "element " << i;
}

TEST(SequenceReferences, Dropout) {
  const std::pair<const char*, double> cases[] = {{"dropout", 0.5}, {"dropout_of_few", 0.1}, {"dropout_of_most", 0.9}};
  for (const auto& [name, p] : cases) {
    SCOPED_TRACE(name);
    const Reference reference(name);
    Generator generator(3);
    const Dropout layer(p, &generator);
    Tensor x = parameter(reference["x"].clone());
    const Tensor y = layer(x);
    y.backward(reference["dy"]);
    std::vector<bool> is_kept;
    for (const double value : y.to_vector<double>()) is_kept.push_back(value != 0);
    EXPECT_THAT(is_kept, testing::AllOf(testing::Contains(true), testing::Contains(false)));
    expect_kept_or_dropped(y, reference["kept"], is_kept);
    expect_kept_or_dropped(x.grad(), reference["gradient of kept"], is_kept);

    const Evaluation evaluation;
    x.zero_grad();
    const Tensor all = layer(x);
    expect_near(all, reference["evaluation/y"]);
    sum(all * reference["dy"]).backward();
    expect_near(x.grad(), reference["evaluation/grad of x"]);
  }
}

TEST(SequenceReferences, MultiHeadAttention) {
  Reference("attention").check(MultiHeadAttention(6, 2, {.dtype = float64}));
  Reference("attention_causal").check(MultiHeadAttention(6, 2, {.causal = true, .dtype = float64}));
  const Reference apart("attention_to_memory");
  const MultiHeadAttention layer = apart.with_values(MultiHeadAttention(6, 2, {.dtype = float64}));
  apart.check(layer, {{"x", apart["x"]}, {"memory", apart["memory"]}}, [&](const Named& in) {
    return Named{{"y", layer.attend(in.at("x"), in.at("memory"), apart["mask"])}};
  });
}

TEST(SequenceReferences, TransformerBlock) {
  Reference("block").check(TransformerBlock(6, 2, {.hidden_features = 8, .causal = true, .dtype = float64}));
  Reference("block_norm_last")
      .check(TransformerBlock(
          6, 2, {.hidden_features = 8, .causal = true, .norm_first = false, .activation = relu, .dtype = float64}));
}

TEST(SequenceReferences, TransformerDecoderBlock) {
  const auto check = [](const char* name, const TransformerDecoderBlockOptions& options) {
    SCOPED_TRACE(name);
    const Reference reference(name);
    const TransformerDecoderBlock layer = reference.with_values(TransformerDecoderBlock(6, 2, options));
    reference.check(layer, {{"x", reference["x"]}, {"memory", reference["memory"]}}, [&](const Named& in) {
      return Named{{"y", layer(in.at("x"), in.at("memory"), {.memory_mask = reference["memory_mask"]})}};
    });
  };
  check("decoder_block", {.hidden_features = 8, .dtype = float64});
  check("decoder_block_norm_last", {.hidden_features = 8, .norm_first = false, .activation = relu, .dtype = float64});
}

}  // namespace
}  // namespace asyncgrad::nn

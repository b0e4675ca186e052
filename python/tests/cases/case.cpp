#include "python/tests/cases/case.h"

#include <iomanip>
#include <iostream>
#include <sstream>

namespace cases {

namespace {

void print(const std::string& python, const std::string& result) {
  std::cout << "case " << python << '\n' << result << '\n';
}

std::string hex(const void* data, std::size_t size_bytes) {
  std::ostringstream text;
  for (std::size_t i = 0; i < size_bytes; ++i) {
    text << std::hex << std::setw(2) << std::setfill('0') << int{static_cast<const unsigned char*>(data)[i]};
  }
  return text.str();
}

}  // namespace

std::string hex(const ag::Tensor& x) {
  const auto values = x.to_vector<float>();
  return x.shape().str() + " " + hex(values.data(), values.size() * sizeof(float));
}
std::string hex(double x) { return hex(&x, sizeof(x)); }
std::string hex(const nn::LSTMState& state) { return hex(state.h) + " " + hex(state.c); }
std::string hex(const nn::RecurrentResult& result) {
  const std::string text = hex(result.output) + ' ' + hex(result.h);
  return result.c.defined() ? text + ' ' + hex(result.c) : text;
}

void value(const std::string& python, const std::function<std::string()>& result) {
  ag::manual_seed(7);
  try {
    print(python, result());
  } catch (const ag::Error& error) {
    print(python, std::string("error ") + error.what());
  }
}

ag::Tensor input(const ag::Shape& shape) {
  return ag::arange(0, shape.numel(), 1, {.dtype = ag::float32}).reshape(shape) / 10 - 1;
}

std::string json(double number) {
  std::ostringstream text;
  text << std::setprecision(17) << number;
  const bool is_whole = text.str().find_first_of(".e") == std::string::npos;
  return text.str() + (is_whole ? ".0" : "");
}
std::string json(const ag::Size2d& size) {
  if (size.height == size.width) return json(size.height);
  return std::string("[") + json(size.height) + ", " + json(size.width) + "]";
}
std::string json(const ag::data::Share& share) {
  return std::string("[") + json(share.index) + ", " + json(share.count) + "]";
}
std::string json(ag::Activation function) {
  for (const nn::NamedActivation& row : nn::named_activations()) {
    if (row.function == function) return '"' + std::string(row.name) + '"';
  }
  return "";
}
std::string json(ag::Interpolation mode) { return mode == ag::Interpolation::nearest ? "\"nearest\"" : "\"bilinear\""; }
std::string json(nn::Reduction reduction) {
  switch (reduction) {
    case nn::Reduction::none:
      return "\"none\"";
    case nn::Reduction::mean:
      return "\"mean\"";
    case nn::Reduction::sum:
      return "\"sum\"";
    default:
      return "\"samples\"";
  }
}
std::string json(nn::RnnActivation activation) {
  return json(ag::Activation(activation == nn::RnnActivation::relu ? ag::relu : ag::tanh));
}
std::string json(const nn::Initialiser& initialiser) {
  using Function = ag::Tensor (*)(const ag::Shape&, ag::RandomOptions, ag::Location);
  const Function* const function = initialiser.target<Function>();
  if (function == nullptr) return "";
  if (*function == Function(nn::xavier_uniform)) return "\"xavier_uniform\"";
  if (*function == Function(nn::xavier_normal)) return "\"xavier_normal\"";
  if (*function == Function(nn::he_uniform)) return "\"he_uniform\"";
  return "\"he_normal\"";
}

void defaults(const std::string& python, const std::vector<Default>& values) {
  std::string text;
  for (const Default& row : values) {
    if (!row.text.empty()) text += (text.empty() ? "" : ", ") + ('"' + std::string(row.name) + "\": ") + row.text;
  }
  print("defaults(" + python + ")", "{" + text + "}");
}

}  // namespace cases

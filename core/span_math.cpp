#include "asyncgrad/core/span_math.h"

#include <fmt/format.h>

#include <array>

#include "asyncgrad/core/backend/attributes/elementwise.h"
#include "asyncgrad/core/backend/backend.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::spans {

namespace {

namespace f = formulas;
using detail::Access, detail::View;

template <class T>
std::byte* bytes_of(const T* elements) {
  return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(elements));
}

// Runs the kernel of the operation on the spans, tile by tile.
template <class T>
void apply(const char* name, std::uint8_t formula, std::span<const T> x, std::span<T> y) {
  if (x.size() != y.size()) {
    throw_error(name, fmt::format("the spans differ: x has {} elements, y {}", x.size(), y.size()));
  }
  const Shape shape{x.size()};
  const std::array views{View{bytes_of(y.data()), shape, dtype_of<T>, Access::write, {}},
                         View{bytes_of(x.data()), shape, dtype_of<T>, Access::read, {}}};
  const detail::ElementwiseAttributes attributes{.formula = formula};
  const detail::KernelCall call{
      .views = views.data(), .view_count = static_cast<int>(views.size()), .attributes_bytes = &attributes};
  const detail::Kernel& kernel = detail::make_backend(DeviceType::cpu)->elementwise[formula];
  const int tiles = kernel.tiles(call);
  for (int tile = 0; tile < tiles; ++tile) kernel.run(call, tile);
}

template <class Formula>
constexpr Function function{Formula::name, static_cast<std::uint8_t>(f::id<Formula>())};

}  // namespace

void Function::operator()(std::span<const float> x, std::span<float> y) const { apply(name_, formula_, x, y); }
void Function::operator()(std::span<const double> x, std::span<double> y) const { apply(name_, formula_, x, y); }

constinit const Function exp = function<f::Exp>, expm1 = function<f::Expm1>, log = function<f::Log>,
                         log1p = function<f::Log1p>, log2 = function<f::Log2>, log10 = function<f::Log10>,
                         sqrt = function<f::Sqrt>, rsqrt = function<f::Rsqrt>, square = function<f::Square>,
                         abs = function<f::Abs>, sign = function<f::Sign>, floor = function<f::Floor>,
                         round = function<f::Round>;
constinit const Function sin = function<f::Sin>, cos = function<f::Cos>, sinh = function<f::Sinh>,
                         cosh = function<f::Cosh>, tanh = function<f::Tanh>, erf = function<f::Erf>;
constinit const Function relu = function<f::Relu>, sigmoid = function<f::Sigmoid>, silu = function<f::Silu>,
                         softplus = function<f::Softplus>, softsign = function<f::Softsign>, gelu = function<f::Gelu>,
                         gelu_tanh = function<f::GeluTanh>, hardswish = function<f::Hardswish>,
                         selu = function<f::Selu>, mish = function<f::Mish>;

}  // namespace asyncgrad::spans

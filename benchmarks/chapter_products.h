// The five products of a step of the chapter's MLP, by bare oneDNN, with which a step is compared.
#pragma once

#include <omp.h>

#include <array>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace asyncgrad::benchmarks {

struct ChapterProduct {
  const char* name;
  std::int64_t m, n, k;
  bool transpose_x = false, transpose_w = false;
};
// Dense 512 -> 2048 -> 512 -> 1, batches of 1024. X needs no gradient.
inline constexpr std::array<ChapterProduct, 5> chapter_products{{{"fwd1", 1024, 2048, 512},
                                                                 {"fwd2", 1024, 512, 2048},
                                                                 {"dX2", 1024, 2048, 512, false, true},
                                                                 {"dW2", 2048, 512, 1024, true, false},
                                                                 {"dW1", 512, 2048, 1024, true, false}}};
inline constexpr double chapter_products_flop = 5 * 2.0 * 1024 * 512 * 2048;

// The operands of one product, row major, numbers in [-1, 1).
struct ProductMemory {
  explicit ProductMemory(const ChapterProduct& product)
      : x(numbers(product.m * product.k)), w(numbers(product.k * product.n)), out(numbers(product.m * product.n)) {}
  static std::vector<float> numbers(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::uint32_t state = 1;
    for (float& value : values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(static_cast<double>(state >> 8) / (1 << 23) - 1);
    }
    return values;
  }
  std::vector<float> x, w, out;
};

// oneDNN's matmul primitive on plain float32 layouts, made for and run by an OpenMP team of the number of threads that
// is set.
class TeamProduct {
 public:
  TeamProduct(const ChapterProduct& product, ProductMemory& memory, dnnl::fpmath_mode math = dnnl::fpmath_mode::strict)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using Strides = dnnl::memory::dims;
    const dnnl::memory::desc x({product.m, product.k}, dnnl::memory::data_type::f32,
                               product.transpose_x ? Strides{1, product.m} : Strides{product.k, 1});
    const dnnl::memory::desc w({product.k, product.n}, dnnl::memory::data_type::f32,
                               product.transpose_w ? Strides{1, product.k} : Strides{product.n, 1});
    const dnnl::memory::desc out({product.m, product.n}, dnnl::memory::data_type::f32, Strides{product.n, 1});
    dnnl::primitive_attr attributes;
    attributes.set_fpmath_mode(math);
    primitive_ = dnnl::matmul(describe(x, w, out, attributes));
    arguments_ = {{DNNL_ARG_SRC, dnnl::memory(x, engine_, memory.x.data())},
                  {DNNL_ARG_WEIGHTS, dnnl::memory(w, engine_, memory.w.data())},
                  {DNNL_ARG_DST, dnnl::memory(out, engine_, memory.out.data())}};
  }
  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::matmul::primitive_desc describe(const dnnl::memory::desc& x, const dnnl::memory::desc& w,
                                        const dnnl::memory::desc& out, const dnnl::primitive_attr& attributes) const {
#if DNNL_VERSION_MAJOR >= 3
    return {engine_, x, w, out, attributes};
#else
    return {dnnl::matmul::desc(x, w, out), attributes, engine_};
#endif
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// All five, each on memory of its own. Sets the calling thread's OpenMP threads to all cores while they are made and
// run.
class TeamProducts {
 public:
  explicit TeamProducts(dnnl::fpmath_mode math = dnnl::fpmath_mode::strict) {
    const AllCores cores;
    memory_.reserve(chapter_products.size());
    for (const ChapterProduct& product : chapter_products) {
      memory_.emplace_back(product);
      products_.emplace_back(product, memory_.back(), math);
    }
  }
  void run() {
    const AllCores cores;
    for (TeamProduct& product : products_) product.run();
  }

 private:
  struct AllCores {
    AllCores() { omp_set_num_threads(omp_get_num_procs()); }
    AllCores(const AllCores&) = delete;
    AllCores& operator=(const AllCores&) = delete;
    ~AllCores() { omp_set_num_threads(previous); }
    int previous = omp_get_max_threads();
  };

  std::vector<ProductMemory> memory_;
  std::vector<TeamProduct> products_;
};

}  // namespace asyncgrad::benchmarks

// A product as the backend cuts it, computed by two threads without the engine.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>

#include "asyncgrad/backends/cpu/products/product.h"
#include "chapter_products.h"
#include "two_threads.h"

namespace asyncgrad::benchmarks {

class TiledProduct {
 public:
  TiledProduct(const detail::ProductShape& shape, ProductMemory& memory)
      : shape_(shape),
        operands_{.x = memory.x.data(), .w = memory.w.data(), .bias = nullptr, .out = memory.out.data()} {
    const auto bytes = static_cast<std::size_t>(detail::product_scratch_bytes(shape) + 64);
    for (Scratch& scratch : scratch_) scratch = Scratch(new (line) std::byte[bytes]);
  }

  void run(TwoThreads& threads) {
    const std::thread::id first = std::this_thread::get_id();
    threads.run(detail::plan_product(shape_).tiles(),
                [&](int tile) { run_tile(tile, scratch_[std::this_thread::get_id() == first ? 0 : 1]); });
  }

 private:
  static constexpr std::align_val_t line{64};
  struct AlignedDelete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, line); }
  };
  using Scratch = std::unique_ptr<std::byte[], AlignedDelete>;

  void run_tile(int tile, const Scratch& scratch) {
    detail::run_product_tile<float>(shape_, detail::plan_product(shape_), operands_, tile, scratch.get());
  }

  detail::ProductShape shape_;
  detail::ProductOperands<float> operands_;
  std::array<Scratch, 2> scratch_;
};

}  // namespace asyncgrad::benchmarks

// Attention and its gradient in blocks of queries and keys, so that the scores of one block exist at a time: Dao et al.
// 2022, "FlashAttention: fast and memory-efficient exact attention with IO-awareness", algorithms 1 and 4. A block's
// scores are computed again for the gradient, from the logarithms of the rows' sums.
//
// Sums over blocks go from the first to the last block, whatever the tiles are.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/products/panel_product.h"
#include "asyncgrad/backends/cpu/products/product.h"
#include "asyncgrad/backends/cpu/sequences/attention_rows.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t block_queries = 128, block_keys = 256;

// The extents of an operation whose operand `q` is the first of q (…, T, D), k (…, S, D), v (…, S, E).
struct Extents {
  std::int64_t batches, queries, keys, features, values;

  Extents(const KernelCall& call, int q)
      : batches(call.shape(q).numel(0, call.shape(q).rank() - 2)),
        queries(call.shape(q)[-2]),
        keys(call.shape(q + 1)[-2]),
        features(call.shape(q)[-1]),
        values(call.shape(q + 2)[-1]) {}
  std::int64_t query_blocks() const { return divided_up(queries, block_queries); }
  std::int64_t key_blocks() const { return divided_up(keys, block_keys); }
  // Multiplications of one batch's two products.
  std::int64_t macs() const { return queries * keys * (features + values); }
};

std::int64_t aligned(std::int64_t elements) { return rounded_up(elements, 16); }

// The scratch memory of a thread while it computes a block.
struct ScratchSizes {
  std::int64_t scores, sums, product_bytes;

  ScratchSizes(const Extents& e, MathMode math, DType dtype) {
    const std::int64_t rows = std::min(block_queries, e.queries), columns = std::min(block_keys, e.keys);
    const std::int64_t widest = std::max(e.features, e.values), longest = std::max(rows, columns);
    scores = aligned(rows * columns);
    sums = aligned(longest * widest);
    product_bytes = panel_scratch_bytes(std::max(widest, longest));
    for (const bool transpose_x : {false, true}) {
      for (const bool transpose_w : {false, true}) {
        const ProductShape shape{
            longest, std::max(longest, widest), std::max(longest, widest), transpose_x, transpose_w, math, dtype, true};
        product_bytes = std::max(product_bytes, product_scratch_bytes(shape));
      }
    }
  }
};

// One batch's matrices, and what its blocks share.
template <class T>
class Batch {
 public:
  Batch(const KernelCall& call, const Extents& extents, int q, int mask, std::int64_t batch)
      : e(extents),
        rows(attention_rows().of<T>()),
        a_(call.attributes<AttentionAttributes>()),
        sizes_(extents, a_.math, call.dtype(0)),
        batch_(batch),
        q_(call.data<T>(q) + batch * e.queries * e.features),
        k_(call.data<T>(q + 1) + batch * e.keys * e.features),
        v_(call.data<T>(q + 2) + batch * e.keys * e.values),
        dtype_(call.dtype(0)),
        scratch_(call.scratch) {
    if (!a_.has_mask) return;
    mask_ = call.data<T>(mask);
    Shape scores = leading_axes(call.shape(q));
    scores.append(e.queries);
    scores.append(e.keys);
    broadcast_.emplace(scores, std::array<const Shape*, max_broadcast_inputs>{&call.shape(mask)}, 1);
  }

  const Extents e;
  const AttentionRows<T>& rows;

  T* scores() const { return reinterpret_cast<T*>(scratch_ + product_bytes()); }
  T* gradients() const { return scores() + sizes_.scores; }
  T* sums() const { return gradients() + sizes_.scores; }

  T scale() const { return static_cast<T>(a_.scale); }
  const T* q(std::int64_t row) const { return q_ + row * e.features; }
  const T* k(std::int64_t row) const { return k_ + row * e.features; }
  const T* v(std::int64_t row) const { return v_ + row * e.values; }

  // The keys that the queries before `end` see.
  std::int64_t keys_before(std::int64_t end) const { return a_.is_causal ? std::min(end, e.keys) : e.keys; }
  // The first query that sees a key.
  std::int64_t first_query(std::int64_t key) const { return a_.is_causal ? std::min(key, e.queries) : 0; }

  // out (m, n) = x (m, k) w (k, n), operands read transposed.
  void product(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, bool transpose_x, const T* w,
               bool transpose_w, T* out) const {
    const ProductShape shape{m, n, k, transpose_x, transpose_w, a_.math, dtype_, true};
    run_product_tile<T>(shape, plan_product(shape), {x, w, nullptr, out}, 0, scratch_);
  }
  // Does the same, but adds the product to out unless it is the first one.
  void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, bool transpose_x, const T* w, T* out,
                   bool is_first) const {
    T* const to = is_first ? out : sums();
    product(m, n, k, x, transpose_x, w, false, to);
    if (!is_first) rows.scale_and_add(out, T{1}, to, m * n);
  }

  // A row of the scores that lie from (query, key) on.
  ScoreRow<T> row(T* scores, std::int64_t query, std::int64_t key, std::int64_t n) const {
    ScoreRow<T> row{.scores = scores, .n = n, .visible = n, .scale = scale(), .mask = nullptr, .mask_step = 0};
    if (a_.is_causal) row.visible = std::clamp<std::int64_t>(query + 1 - key, 0, n);
    if (mask_ == nullptr) return row;
    row.mask = mask_ + broadcast_->offset(0, (batch_ * e.queries + query) * e.keys + key);
    row.mask_step = broadcast_->column_step(0);
    return row;
  }

 private:
  std::int64_t product_bytes() const { return rounded_up(sizes_.product_bytes, 64); }

  const AttentionAttributes& a_;
  ScratchSizes sizes_;
  std::int64_t batch_;
  const T *q_, *k_, *v_, *mask_ = nullptr;
  std::optional<Broadcast> broadcast_;  // of the mask to the scores
  DType dtype_;
  std::byte* scratch_;
};

// --- forwards: a tile is a range of blocks of queries

// The rows [query, query + m) of out and of the sums' logarithms.
template <class T>
void attend(const Batch<T>& batch, std::int64_t query, std::int64_t m, T* out, T* log_sums) {
  std::array<T, block_queries> maxima;
  std::array<double, block_queries> sums{};
  maxima.fill(-std::numeric_limits<T>::infinity());
  const std::int64_t width = batch.e.values, keys = batch.keys_before(query + m);
  for (std::int64_t key = 0; key < keys; key += block_keys) {
    const std::int64_t n = std::min(block_keys, keys - key);
    batch.product(m, n, batch.e.features, batch.q(query), false, batch.k(key), true, batch.scores());
    std::array<T, block_queries> factors;
    for (std::int64_t i = 0; i < m; ++i) {
      const auto at = static_cast<std::size_t>(i);
      factors[at] = batch.rows.powers(batch.row(batch.scores() + i * n, query + i, key, n), maxima[at], sums[at]);
    }
    T* const part = key == 0 ? out : batch.sums();
    batch.product(m, width, n, batch.scores(), false, batch.v(key), false, part);
    if (key == 0) continue;
    for (std::int64_t i = 0; i < m; ++i) {
      batch.rows.scale_and_add(out + i * width, factors[static_cast<std::size_t>(i)], part + i * width, width);
    }
  }
  if (keys == 0) std::fill_n(out, m * width, T{0});
  for (std::int64_t i = 0; i < m; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (sums[at] != 0) batch.rows.scale(out + i * width, static_cast<T>(1 / sums[at]), width);
    log_sums[i] = static_cast<T>(static_cast<double>(maxima[at]) + std::log(sums[at]));
  }
}

constexpr std::int64_t macs_per_tile = 1 << 20;

std::int64_t blocks_per_tile(const Extents& e) {
  const std::int64_t macs =
      std::min(block_queries, std::max<std::int64_t>(1, e.queries)) * e.keys * (e.features + e.values);
  return std::max<std::int64_t>(1, macs_per_tile / std::max<std::int64_t>(macs, 1 << 10));
}
int attention_tiles(const KernelCall& call) {
  const Extents e(call, 2);
  return tile_count(e.batches * e.query_blocks(), blocks_per_tile(e));
}

void run_attention(const KernelCall& call, int tile) {
  const Extents e(call, 2);
  const Range blocks = tile_range(e.batches * e.query_blocks(), blocks_per_tile(e), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t b = block / e.query_blocks(), query = block % e.query_blocks() * block_queries;
      const Batch<T> batch(call, e, 2, 5, b);
      attend(batch, query, std::min(block_queries, e.queries - query),
             call.data<T>(0) + (b * e.queries + query) * e.values, call.data<T>(1) + b * e.queries + query);
    }
  });
}

// --- backwards: a tile is a range of batches, or of few batches the blocks of keys, for which dk and dv are computed,
// --- and then those of queries, for dq

constexpr std::int64_t min_whole = 8;

struct GradTiles {
  std::int64_t per_tile = 0;  // batches; 0: they are cut
  int tiles;

  explicit GradTiles(const Extents& e) {
    if (e.batches == 0 || e.batches >= min_whole || (e.query_blocks() <= 1 && e.key_blocks() <= 1)) {
      per_tile = std::max<std::int64_t>(1, macs_per_tile / std::max<std::int64_t>(e.macs() * 2, 1 << 10));
      tiles = tile_count(e.batches, per_tile);
    } else {
      tiles = static_cast<int>(e.batches * (e.query_blocks() + e.key_blocks()));
    }
  }
};

template <class T>
class BatchGrad {
 public:
  BatchGrad(const KernelCall& call, const Extents& extents, std::int64_t b)
      : batch_(call, extents, 3, 9, b),
        e_(batch_.e),
        dq_(call.data<T>(0) + b * e_.queries * e_.features),
        dk_(call.data<T>(1) + b * e_.keys * e_.features),
        dv_(call.data<T>(2) + b * e_.keys * e_.values),
        out_(call.data<T>(6) + b * e_.queries * e_.values),
        log_sums_(call.data<T>(7) + b * e_.queries),
        dout_(call.data<T>(8) + b * e_.queries * e_.values) {}

  // dk and dv of a block of keys and, with `also_queries`, their part of dq.
  void keys(std::int64_t block, bool also_queries) const {
    const std::int64_t key = block * block_keys, n = std::min(block_keys, e_.keys - key);
    bool is_first = true;
    const std::int64_t first = batch_.first_query(key) / block_queries * block_queries;
    for (std::int64_t query = first; query < e_.queries; query += block_queries) {
      if (batch_.keys_before(std::min(query + block_queries, e_.queries)) <= key) continue;
      pair(query, key, n, true, is_first, also_queries);
      is_first = false;
    }
    if (!is_first) return;
    std::fill_n(dk_ + key * e_.features, n * e_.features, T{0});
    std::fill_n(dv_ + key * e_.values, n * e_.values, T{0});
  }
  // dq of a block of queries.
  void queries(std::int64_t block) const {
    const std::int64_t query = block * block_queries, end = std::min(query + block_queries, e_.queries);
    const std::int64_t keys = batch_.keys_before(end);
    for (std::int64_t key = 0; key < keys; key += block_keys) {
      pair(query, key, std::min(block_keys, e_.keys - key), false, false, true);
    }
  }
  void all() const {
    if (e_.keys == 0) clear_queries(0, e_.queries);
    for (std::int64_t block = 0; block < e_.key_blocks(); ++block) keys(block, true);
  }
  void clear_queries(std::int64_t query, std::int64_t m) const {
    std::fill_n(dq_ + query * e_.features, m * e_.features, T{0});
  }

 private:
  // The gradients that a block of queries and a block of keys give each other.
  void pair(std::int64_t query, std::int64_t key, std::int64_t all_keys, bool for_keys, bool is_first_query,
            bool for_queries) const {
    const std::int64_t m = std::min(block_queries, e_.queries - query);
    // In the first block of queries that sees keys, some keys may be hidden from all rows; they must be written.
    const std::int64_t n =
        for_keys && is_first_query ? all_keys : std::min(all_keys, batch_.keys_before(query + m) - key);
    const T* const dout = dout_ + query * e_.values;
    T *const shares = batch_.scores(), *const gradients = batch_.gradients();
    batch_.product(m, n, e_.features, batch_.q(query), false, batch_.k(key), true, shares);
    for (std::int64_t i = 0; i < m; ++i) {
      batch_.rows.shares(batch_.row(shares + i * n, query + i, key, n), log_sums_[query + i]);
    }
    if (for_keys) batch_.add_product(n, e_.values, m, shares, true, dout, dv_ + key * e_.values, is_first_query);
    batch_.product(m, n, e_.values, dout, false, batch_.v(key), true, gradients);
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t at = i * e_.values;
      const T mean = static_cast<T>(batch_.rows.dot(dout + at, out_ + query * e_.values + at, e_.values));
      batch_.rows.gradients(shares + i * n, gradients + i * n, mean, batch_.scale(), n);
    }
    if (for_keys) {
      batch_.add_product(n, e_.features, m, gradients, true, batch_.q(query), dk_ + key * e_.features, is_first_query);
    }
    if (for_queries) {
      batch_.add_product(m, e_.features, n, gradients, false, batch_.k(key), dq_ + query * e_.features, key == 0);
    }
  }

  Batch<T> batch_;
  Extents e_;
  T *dq_, *dk_, *dv_;
  const T *out_, *log_sums_, *dout_;
};

template <class T>
void run_grad_tile(const KernelCall& call, const Extents& e, int tile) {
  const GradTiles cut(e);
  if (cut.per_tile > 0) {
    const Range batches = tile_range(e.batches, cut.per_tile, tile);
    for (std::int64_t b = batches.begin; b < batches.end; ++b) BatchGrad<T>(call, e, b).all();
    return;
  }
  const std::int64_t blocks = e.query_blocks() + e.key_blocks(), block = tile % blocks;
  const BatchGrad<T> batch(call, e, tile / blocks);
  if (block < e.key_blocks()) return batch.keys(block, false);
  const std::int64_t query_block = block - e.key_blocks(), query = query_block * block_queries;
  if (e.keys == 0) return batch.clear_queries(query, std::min(block_queries, e.queries - query));
  batch.queries(query_block);
}
void run_attention_grad(const KernelCall& call, int tile) {
  const Extents e(call, 3);
  visit_floating(call.dtype(0), [&]<class T>(T) { run_grad_tile<T>(call, e, tile); });
}

template <int q>
std::int64_t attention_scratch(const KernelCall& call) {
  const ScratchSizes sizes(Extents(call, q), call.attributes<AttentionAttributes>().math, call.dtype(0));
  return rounded_up(sizes.product_bytes, 64) + (2 * sizes.scores + sizes.sums) * call.element_bytes(0);
}
template <int q>
std::int64_t attention_cost(const KernelCall& call) {
  const Extents e(call, q);
  return call.elements() + e.batches * (e.macs() / 16 + e.queries * e.keys * 2);
}

}  // namespace

constinit const Kernel cpu_kernels::attention{
    .run = run_attention, .tiles = attention_tiles, .scratch_bytes = attention_scratch<2>, .cost = attention_cost<2>};
constinit const Kernel cpu_kernels::attention_grad{
    .run = run_attention_grad,
    .tiles = [](const KernelCall& call) { return GradTiles(Extents(call, 3)).tiles; },
    .scratch_bytes = attention_scratch<3>,
    .cost = attention_cost<3>};

}  // namespace asyncgrad::detail

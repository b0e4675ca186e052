#include "asyncgrad/backends/cpu/products/bf16_tiles.h"

#if defined(__AVX512BF16__)  // and AMX: CMakeLists.txt asks for all of it; compilers name AMX differently

#if !defined(__clang__)  // GCC warns of its own _mm512_undefined_epi32
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace asyncgrad::detail {
namespace {

// A tile has 16 rows of 64 bytes. A tile of x holds 16 rows by 32 elements along k; a tile of w holds, for 16 columns,
// 16 adjacent pairs of elements along k. Two tiles of each make a block of 32 x 32 of out, in four tiles.
constexpr std::int64_t side = 16, step = 32, block = 2 * side, tile_bytes = 1024;
// Two strips of x stay in the first-level cache, all of x and w in the second-level cache.
constexpr std::int64_t max_depth = 512, max_rows = 256, max_columns = 1024;

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
std::int64_t multiple(std::int64_t extent, std::int64_t of) { return (extent + of - 1) / of * of; }

// The first `count` of 16 elements.
__mmask16 first(std::int64_t count) {
  return count >= side ? 0xFFFF : count <= 0 ? 0 : static_cast<__mmask16>((1U << count) - 1);
}

// x or w, both read as (lines, k): elements along k are `k` apart, lines are `line` apart.
struct Lines {
  const float* values;
  std::int64_t line, k;
};

// 16 lines by 32 elements along k, a line in each vector, with zeros beyond `lines` and `depth`.
inline void load_lines(const Lines& from, std::int64_t lines, std::int64_t depth, __m512i* vectors) {
  const __mmask16 low = first(depth), high = first(depth - side);
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < side; ++i) {
    const float* const line = from.values + i * from.line;
    const __m512 a = i < lines ? _mm512_maskz_loadu_ps(low, line) : _mm512_setzero_ps();
    const __m512 b = i < lines ? _mm512_maskz_loadu_ps(high, line + side) : _mm512_setzero_ps();
    vectors[i] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
  }
}

// The same from a matrix whose lines are adjacent: each vector has a pair of elements along k from each line.
inline void load_pairs(const Lines& from, std::int64_t lines, std::int64_t depth, __m512i* vectors) {
  const __mmask16 mask = first(lines);
  const __m512i zipped = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                          21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < side; ++i) {
    const float* const pair = from.values + 2 * i * from.k;
    const __m512 a = 2 * i < depth ? _mm512_maskz_loadu_ps(mask, pair) : _mm512_setzero_ps();
    const __m512 b = 2 * i + 1 < depth ? _mm512_maskz_loadu_ps(mask, pair + from.k) : _mm512_setzero_ps();
    vectors[i] = _mm512_permutexvar_epi16(zipped, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a)));
  }
}

// Swaps rows and columns of 16 x 16 elements of 32 bits.
inline void transpose(__m512i* v) {
  __m512i t[side];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512i low01 = _mm512_unpacklo_epi32(v[i], v[i + 1]), high01 = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    const __m512i low23 = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]), high23 = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm512_unpacklo_epi64(low01, low23);
    t[i + 1] = _mm512_unpackhi_epi64(low01, low23);
    t[i + 2] = _mm512_unpacklo_epi64(high01, high23);
    t[i + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
    const __m512i c = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xDD), d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xDD);
    v[i] = _mm512_shuffle_i32x4(a, b, 0x88);
    v[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(a, b, 0xDD);
    v[i + 12] = _mm512_shuffle_i32x4(c, d, 0xDD);
  }
}

// One tile of x (lines in rows) or of w (lines in columns).
template <bool ByPairs, bool LinesInColumns>
void pack_tile(const Lines& from, std::int64_t lines, std::int64_t depth, char* to) {
  __m512i vectors[side];
  if constexpr (ByPairs) {
    load_pairs(from, lines, depth, vectors);
  } else {
    load_lines(from, lines, depth, vectors);
  }
  if constexpr (ByPairs != LinesInColumns) transpose(vectors);
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < side; ++i) _mm512_store_si512(to + i * 64, vectors[i]);
}

// Packs all tiles of some lines and a range of k. The tiles of 16 lines follow each other along k.
template <bool LinesInColumns>
void pack(const Lines& from, std::int64_t lines, std::int64_t depth, char* to) {
  const std::int64_t strip_bytes = multiple(depth, step) / step * tile_bytes;
  if (from.k == 1) {
    for (std::int64_t line = 0; line < lines; line += side) {
      for (std::int64_t k = 0; k < depth; k += step) {
        pack_tile<false, LinesInColumns>({from.values + line * from.line + k, from.line, from.k}, lines - line,
                                         depth - k, to + line / side * strip_bytes + k / step * tile_bytes);
      }
    }
  } else {
    for (std::int64_t k = 0; k < depth; k += step) {
      for (std::int64_t line = 0; line < lines; line += side) {
        pack_tile<true, LinesInColumns>({from.values + line + k * from.k, from.line, from.k}, lines - line, depth - k,
                                        to + line / side * strip_bytes + k / step * tile_bytes);
      }
    }
  }
}

struct TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Fetches a row of a block of out for writing.
inline void fetch_row(const float* out) {
  __builtin_prefetch(out, 1);
  __builtin_prefetch(out + side, 1);
}

// sums (32, 32) = two strips of x times two strips of w. Tiles of w stream past those of x, which stay in the
// first-level cache for the next two strips of w. Each step also prefetches two rows of `out`, where the sums will go;
// fetching all of them at once would delay the loads of tiles.
template <bool TwoRows, bool TwoColumns>
void multiply_strips(const char* x, const char* w, std::int64_t strip_bytes, float* sums, const float* out,
                     std::int64_t out_row) {
  static_assert(2 * max_depth / step == block);
  _tile_zero(0);
  if constexpr (TwoColumns) _tile_zero(1);
  if constexpr (TwoRows) _tile_zero(2);
  if constexpr (TwoRows && TwoColumns) _tile_zero(3);
  for (std::int64_t at = 0; at < strip_bytes; at += tile_bytes) {
    _tile_loadd(4, x + at, 64);
    fetch_row(out);
    fetch_row(out + out_row);
    out += 2 * out_row;
    _tile_stream_loadd(6, w + at, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (TwoColumns) {
      _tile_stream_loadd(7, w + strip_bytes + at, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (TwoRows) {
      _tile_loadd(5, x + strip_bytes + at, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (TwoRows && TwoColumns) _tile_dpbf16ps(3, 5, 7);
  }
  constexpr int row_bytes = block * sizeof(float);
  _tile_stored(0, sums, row_bytes);
  if constexpr (TwoColumns) _tile_stored(1, sums + side, row_bytes);
  if constexpr (TwoRows) _tile_stored(2, sums + side * block, row_bytes);
  if constexpr (TwoRows && TwoColumns) _tile_stored(3, sums + side * block + side, row_bytes);
}

// The destination of a block of sums: a block of out, at most (32, 32).
struct Finish {
  float* out;
  std::int64_t out_row, rows, columns;
  const float* bias;  // or null
  bool add, relu;     // add: the sums are added to out
};

void finish(const Finish& f, const float* sums) {
  for (std::int64_t column = 0; column < f.columns; column += side) {
    const __mmask16 mask = first(f.columns - column);
    const __m512 zero = _mm512_setzero_ps();
    const __m512 bias = f.bias == nullptr ? zero : _mm512_maskz_loadu_ps(mask, f.bias + column);
    for (std::int64_t row = 0; row < f.rows; ++row) {
      float* const out = f.out + row * f.out_row + column;
      __m512 sum = _mm512_load_ps(sums + row * block + column);
      if (f.add) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), sum);
      if (f.bias != nullptr) sum = _mm512_add_ps(sum, bias);
      // A comparison rather than max, so that NaN stays NaN.
      if (f.relu) sum = _mm512_mask_mov_ps(sum, _mm512_cmp_ps_mask(sum, zero, _CMP_LT_OQ), zero);
      _mm512_mask_storeu_ps(out, mask, sum);
    }
  }
}

// Computes the rows and columns of out that belong to packed x and w.
void multiply_packed(const Finish& all, const char* x, const char* w, std::int64_t strip_bytes) {
  alignas(64) float sums[block * block];
  for (std::int64_t row = 0; row < all.rows; row += block) {
    const char* const rows_of_x = x + row / side * strip_bytes;
    for (std::int64_t column = 0; column < all.columns; column += block) {
      const char* const columns_of_w = w + column / side * strip_bytes;
      Finish part = all;
      part.out += row * all.out_row + column;
      part.rows = smaller(block, all.rows - row);
      part.columns = smaller(block, all.columns - column);
      if (all.bias != nullptr) part.bias += column;
      const bool two_rows = part.rows > side, two_columns = part.columns > side;
      const auto multiply = two_rows      ? two_columns ? multiply_strips<true, true> : multiply_strips<true, false>
                                 : two_columns ? multiply_strips<false, true>
                                          : multiply_strips<false, false>;
      multiply(rows_of_x, columns_of_w, strip_bytes, sums, part.out, part.out_row);
      finish(part, sums);
    }
  }
}

}  // namespace

bool tiles_are_there() {
  constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  constexpr unsigned amx_bf16 = 1U << 22, amx_tile = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & amx_bf16) == 0 || (d & amx_tile) == 0) return false;
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16") &&
         syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

std::int64_t tiles_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t lines = multiple(smaller(m, max_rows), side) + multiple(smaller(n, max_columns), side);
  return lines * multiple(smaller(k, max_depth), step) * 2;
}

void multiply_by_tiles(const PanelProduct<float>& p, void* scratch) {
  const TileConfiguration configuration;
  _tile_loadconfig(&configuration);
  for (std::int64_t column = 0; column < p.n; column += max_columns) {
    const std::int64_t columns = smaller(max_columns, p.n - column);
    for (std::int64_t k = 0; k == 0 || k < p.k; k += max_depth) {
      const std::int64_t depth = smaller(max_depth, p.k - k);
      const std::int64_t strip_bytes = multiple(depth, step) / step * tile_bytes;
      const bool last = k + max_depth >= p.k;
      char* const w = static_cast<char*>(scratch);
      char* const x = w + multiple(columns, side) / side * strip_bytes;
      pack<true>({p.w + k * p.w_row + column * p.w_column, p.w_column, p.w_row}, columns, depth, w);
      for (std::int64_t row = 0; row < p.m; row += max_rows) {
        const std::int64_t rows = smaller(max_rows, p.m - row);
        pack<false>({p.x + row * p.x_row + k * p.x_column, p.x_row, p.x_column}, rows, depth, x);
        multiply_packed({.out = p.out + row * p.out_row + column,
                         .out_row = p.out_row,
                         .rows = rows,
                         .columns = columns,
                         .bias = last && p.bias != nullptr ? p.bias + column : nullptr,
                         .add = k > 0,
                         .relu = last && p.relu},
                        x, w, strip_bytes);
      }
    }
  }
  _tile_release();
}

}  // namespace asyncgrad::detail

#else

namespace asyncgrad::detail {

bool tiles_are_there() { return false; }
std::int64_t tiles_scratch_bytes(std::int64_t, std::int64_t, std::int64_t) { return 0; }
void multiply_by_tiles(const PanelProduct<float>&, void*) {}

}  // namespace asyncgrad::detail

#endif

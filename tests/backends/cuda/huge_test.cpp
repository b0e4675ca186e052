// Tensors of more elements than 32 bits count. Their addresses are there; memory is where a kernel reads or writes alone.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/backends/cuda/both_backends.h"
#include "tests/backends/cuda/emulator/emulator.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t beyond = std::int64_t{1} << 31;  // more than an int counts

// The system gives memory to the pages that are written, and zeros to those that are read.
class Sparse {
 public:
  Sparse(const Shape& shape, DType dtype)
      : shape_(shape), dtype_(dtype), size_(static_cast<std::size_t>(shape.numel()) * size_bytes(dtype)) {
    void* const begin =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin != MAP_FAILED) begin_ = static_cast<std::byte*>(begin);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  ~Sparse() {
    if (begin_ != nullptr) munmap(begin_, size_);
  }
  bool is_there() const { return begin_ != nullptr; }
  View view(Access access) const { return {begin_, shape_, dtype_, access, Device()}; }
  float& operator[](std::int64_t i) { return reinterpret_cast<float*>(begin_)[i]; }

 private:
  Shape shape_;
  DType dtype_;
  std::size_t size_;
  std::byte* begin_ = nullptr;
};

class CudaHuge : public testing::Test {
 protected:
  // The results of an operation of such a tensor and of small operands, which are written.
  template <class Attributes>
  static std::vector<float> run(Op op, const Shape& out, const Sparse& in, const std::vector<View>& others,
                                const Attributes& attributes) {
    const Array results(out, float32);
    std::vector<View> views{results.view(Access::write)};
    if (op == Op::max_pool) views.push_back({nullptr, {0}, int64, Access::write, Device()});
    views.push_back(in.view(Access::read));
    views.insert(views.end(), others.begin(), others.end());
    run_on_cuda(op, views, attributes);
    return results.values<float>();
  }
};

TEST_F(CudaHuge, RowsAreTakenFromBehind) {
  Sparse table({beyond / 4, 8}, float32);
  if (!table.is_there()) GTEST_SKIP() << "there are not so many addresses here";
  const std::int64_t last = beyond / 4 - 1;
  table[last * 8 + 7] = 5;
  table[(last - 1) * 8] = 3;
  const Array indices({2}, std::vector<std::int64_t>{last - 1, last});
  std::vector<float> expected(16, 0);
  expected[0] = 3;
  expected[15] = 5;
  EXPECT_EQ(run(Op::take, {2, 8}, table, {indices.view(Access::read)}, IndexAttributes{1, beyond / 4, 8}), expected);
}

TEST_F(CudaHuge, SlicesAreCopiedFromBehind) {
  Sparse x({2, beyond}, float32);
  if (!x.is_there()) GTEST_SKIP() << "there are not so many addresses here";
  x[beyond - 1] = 3;
  x[2 * beyond - 1] = 5;
  StridedCopyAttributes attributes;
  attributes.strides[0] = beyond;
  attributes.strides[1] = 1;
  attributes.offset = beyond - 2;
  EXPECT_EQ(run(Op::strided_copy, {2, 2}, x, {}, attributes), (std::vector<float>{0, 3, 0, 5}));
}

TEST_F(CudaHuge, WindowsLieFarApart) {
  constexpr std::int64_t edge = 50000;
  Sparse x({1, 1, edge, edge}, float32);
  if (!x.is_there()) GTEST_SKIP() << "there are not so many addresses here";
  x[edge - 1] = 2;
  x[(edge - 1) * edge] = 3;
  x[edge * edge - 1] = 5;
  const Array weight({1, 1, 1, 1}, std::vector<float>{1});
  ConvAttributes conv;
  conv.stride = {edge - 1, edge - 1};
  EXPECT_EQ(run(Op::conv, {1, 1, 2, 2}, x, {weight.view(Access::read)}, conv), (std::vector<float>{0, 2, 3, 5}));
  PoolAttributes pool;
  pool.stride = conv.stride;
  EXPECT_EQ(run(Op::max_pool, {1, 1, 2, 2}, x, {}, pool), (std::vector<float>{0, 2, 3, 5}));
  EXPECT_EQ(run(Op::avg_pool, {1, 1, 2, 2}, x, {}, pool), (std::vector<float>{0, 2, 3, 5}));
}

// --- Launches, of which none runs

int launches = 0;
void count_launch(cudaStream_t, std::function<void()>) { ++launches; }

// The launches and the scratch memory of an operation of these shapes, whose operands have no memory.
template <class Attributes>
void expect_launches(Op op, const std::vector<Shape>& shapes, const std::vector<DType>& dtypes,
                     const Attributes& attributes) {
  SCOPED_TRACE(row_of(op).name);
  std::vector<View> views;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    views.push_back({nullptr, shapes[i], dtypes[i % dtypes.size()], Access::read, Device()});
  }
  std::shared_ptr<cuda::Planner> planner;
  int stream = 0;
  const cuda::Launch launch{reinterpret_cast<cudaStream_t>(&stream), nullptr, planner};
  alignas(256) static std::byte scratch[256];
  const KernelCall call{views.data(), static_cast<int>(views.size()), &attributes, scratch, &launch};
  const Kernel& kernel = cuda_backend().kernels[static_cast<std::size_t>(op)];
  if (kernel.scratch_bytes != nullptr) {
    const std::int64_t bytes = kernel.scratch_bytes(call);
    EXPECT_GE(bytes, 0);
    EXPECT_LE(bytes, 4 * beyond * 25) << "of the largest shape here: twice a key and a place, and some";
  }
  launches = 0;
  kernel.run(call, 0);  // the emulator ends the process if a launch has no blocks or too many threads
  EXPECT_GT(launches, 0);
  EXPECT_LT(launches, 100);
}

TEST(CudaHugeLaunches, AreWithinTheGridsLimits) {
  tests::emulator::set_streams(count_launch);
  for (const std::int64_t n : {beyond - 1, beyond, 2 * beyond + 1, 4 * beyond}) {
    SCOPED_TRACE(n);
    expect_launches(Op::fill, {{n}}, {float32}, FillAttributes{});
    expect_launches(Op::arange, {{n}}, {float32}, ArangeAttributes{});
    expect_launches(Op::uniform, {{n}}, {float32}, RandomAttributes{1, 0, 0, 1});
    expect_launches(Op::normal, {{n}}, {float32}, RandomAttributes{1, 0, 0, 1});
    expect_launches(Op::dropout, {{n}, {n}}, {float32}, DropoutAttributes{1, 0, 2, 7, {}});
    for (const Op op : {Op::sum, Op::prod, Op::max, Op::argmax}) {
      const DType dtype = op == Op::argmax ? int64 : float32;
      expect_launches(op, {{1}, {n}}, {dtype, float32}, ReduceAttributes{1, n, 1});
      expect_launches(op, {{2}, {n / 2, 2}}, {dtype, float32}, ReduceAttributes{1, n / 2, 2});
      expect_launches(op, {{n / 2}, {n / 2, 2}}, {dtype, float32}, ReduceAttributes{n / 2, 2, 1});
    }
    for (const Op op : {Op::softmax, Op::log_softmax}) {
      expect_launches(op, {{n}, {n}}, {float32}, ReduceAttributes{1, n, 1});
      expect_launches(op, {{n}, {n}}, {float32}, ReduceAttributes{1, n / 2, 2});
      expect_launches(op, {{n / 2, 2}, {n / 2, 2}}, {float32}, ReduceAttributes{n / 2, 2, 1});
    }
    for (const std::int64_t inner : {1, 3}) {
      expect_launches(Op::cumsum, {{n / inner, inner}, {n / inner, inner}}, {float32},
                      CumsumAttributes{1, n / inner, inner});
    }
    expect_launches(Op::argsort, {{n}, {n}}, {int64, float32}, SortAttributes{1, n, 1, n});
    expect_launches(Op::take, {{n / 8, 8}, {100, 8}, {n / 8}}, {float32, float32, int64}, IndexAttributes{1, 100, 8});
    expect_launches(Op::one_hot, {{n / 8, 8}, {n / 8}}, {float32, int64}, FillAttributes{});
    expect_launches(Op::layer_norm, {{n / 8, 8}, {2, n / 8}, {n / 8, 8}}, {float32}, NormAttributes{n / 8, 8});
    expect_launches(Op::layer_norm, {{1, n}, {2, 1}, {1, n}}, {float32}, NormAttributes{1, n});
    expect_launches(Op::batch_norm, {{n / 8, 8}, {3, 8}, {n / 8, 8}}, {float32}, BatchNormAttributes{n / 8, 8, 1});
    expect_launches(Op::batch_norm, {{1, n}, {3, n}, {1, n}}, {float32}, BatchNormAttributes{1, n, 1});
    expect_launches(Op::max_pool, {{n / 4, 1, 1, 1}, {0}, {n / 4, 1, 2, 2}}, {float32, int64},
                    PoolAttributes{{2, 2}, {2, 2}, {}});
    expect_launches(Op::conv, {{n / 64, 1, 8, 8}, {n / 64, 1, 8, 8}, {1, 1, 1, 1}}, {float32}, ConvAttributes{});
  }
  tests::emulator::set_streams(nullptr);
}

}  // namespace

}  // namespace asyncgrad::detail

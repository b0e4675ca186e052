// All steps of a recurrent layer in one launch, for layers so small that a launch takes longer than a step. A block takes
// some sequences through all steps: each thread keeps one element of the state of a few of them, and multiplies their
// states, which the block shares, by a column of the weight for each gate.
#include <algorithm>
#include <type_traits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/recurrent_formulas.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

// Which sequences a thread takes, and which element of their state.
template <int rows>
struct Share {
  std::int64_t first;  // sequence
  int element, place;  // place: of its states among those of the block, in rows
  bool is_there;       // else the thread is left over

  static __host__ __device__ int slots(int n) { return block_threads / n; }
  __device__ Share(std::int64_t item, int n) {
    const auto thread = static_cast<int>(threadIdx.x);
    const int slot = thread / n;
    element = thread - slot * n;
    place = slot * rows;
    first = (item * slots(n) + slot) * rows;
    is_there = slot < slots(n);
  }
};

// What both directions know of a layer.
struct Sizes {
  std::int64_t steps, sequences;
  int n;
  bool is_backward;
  const std::int64_t* lengths;  // or null

  Sizes(const KernelCall& call, const Shape& y)
      : steps(call.attributes<RecurrentAttributes>().steps),
        sequences(y[1]),
        n(static_cast<int>(y[2])),
        is_backward(call.attributes<RecurrentAttributes>().is_backward),
        lengths(lengths_of(call)) {}
  // The step that is taken as number `s`.
  __device__ std::int64_t step(std::int64_t s) const { return is_backward ? steps - 1 - s : s; }
  __device__ bool has(std::int64_t sequence) const { return sequence < sequences; }
  __device__ std::int64_t length(std::int64_t sequence) const {
    return lengths == nullptr || !has(sequence) ? steps : lengths[sequence];
  }
  // Where an element of a state, or of the first of several parts of it, is in a tensor of all steps.
  __device__ std::int64_t place(std::int64_t step, std::int64_t sequence, int parts = 1) const {
    return (step * sequences + sequence) * parts * n;
  }
};

template <RecurrentKind kind, class T, int rows>
struct AllSteps {
  Sizes sizes;
  T *y, *c, *gates;  // c and gates are null unless the gradient needs them
  const T *x, *weight, *bias, *h_before, *c_before;

  explicit AllSteps(const KernelCall& call) : sizes(call, call.shape(0)) {
    const auto& a = call.attributes<RecurrentAttributes>();
    OperandsInOrder<T> operands(call);
    y = operands.next();
    c = operands.next(a.is_kept && kind == RecurrentKind::lstm);
    gates = operands.next(a.is_kept && has_gates(kind));
    x = operands.next();
    weight = operands.next();
    bias = operands.next(a.has_bias);
    h_before = operands.next();
    c_before = operands.next(kind == RecurrentKind::lstm);
  }

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    constexpr int gate_parts = gate_count(kind);
    __shared__ T states[2][rows * block_threads];  // a step reads one half while the next one's is written
    const int n = sizes.n;
    const Share<rows> share(item, n);
    NewCell<T> cells[rows];
    std::int64_t lengths[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sequence = share.first + r;
      lengths[r] = sizes.length(sequence);
      if (!share.is_there || !sizes.has(sequence)) continue;
      cells[r].h = h_before[sequence * n + share.element];
      if constexpr (kind == RecurrentKind::lstm) cells[r].c = c_before[sequence * n + share.element];
    }
    for (std::int64_t s = 0; s < sizes.steps; ++s) {
      T* const block_states = states[s % 2];
      if (share.is_there) {
#pragma unroll
        for (int r = 0; r < rows; ++r) block_states[(share.place + r) * n + share.element] = cells[r].h;
      }
      team.meet();
      if (!share.is_there) continue;
      T z[rows][gate_parts];
#pragma unroll
      for (int gate = 0; gate < gate_parts; ++gate) {
        const T addend = bias == nullptr ? T(0) : bias[gate * n + share.element];
#pragma unroll
        for (int r = 0; r < rows; ++r) z[r][gate] = addend;
      }
      const T* column = weight + share.element;
#pragma unroll 4
      for (int k = 0; k < n; ++k, column += gate_parts * n) {
#pragma unroll
        for (int gate = 0; gate < gate_parts; ++gate) {
          const T factor = __ldg(column + gate * n);
#pragma unroll
          for (int r = 0; r < rows; ++r) z[r][gate] += block_states[(share.place + r) * n + k] * factor;
        }
      }
      const std::int64_t t = sizes.step(s);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (sizes.has(share.first + r)) take(t, share.first + r, share.element, lengths[r], z[r], cells[r]);
      }
    }
    if constexpr (kind == RecurrentKind::lstm) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (!share.is_there || !sizes.has(share.first + r)) continue;
        y[sizes.place(sizes.steps, share.first + r) + share.element] = cells[r].c;
      }
    }
    team.meet();  // the next item's states come there
  }

 private:
  // A step of one sequence.
  __device__ void take(std::int64_t t, std::int64_t sequence, int element, std::int64_t length, const T* z,
                       NewCell<T>& cell) const {
    const int n = sizes.n;
    if (t < length) {
      T shares[kept_gates];
      const T* const from = x + sizes.place(t, sequence, gate_count(kind)) + element;
#pragma unroll
      for (int gate = 0; gate < gate_count(kind); ++gate) shares[gate] = from[gate * n];
      cell = next_cell<kind>(shares, z, cell.h, cell.c);
    } else {
#pragma unroll
      for (T& gate : cell.gates) gate = 0;
    }
    const std::int64_t place = sizes.place(t, sequence) + element;
    y[place] = cell.h;
    if (c != nullptr) c[place] = cell.c;
    if (gates == nullptr) return;
    T* const to = gates + sizes.place(t, sequence, kept_gates) + element;
#pragma unroll
    for (int gate = 0; gate < kept_gates; ++gate) to[gate * n] = cell.gates[gate];
  }
};

template <RecurrentKind kind, class T, int rows>
struct AllGradients {
  Sizes sizes;
  T *dx, *dz, *dh, *dc;  // dz is null if it is dx
  const T *dy, *weight, *gates, *y, *c, *c_before, *h_before;

  explicit AllGradients(const KernelCall& call) : sizes(call, call.shape(has_gates(kind) ? 3 : 2)) {
    OperandsInOrder<T> operands(call);
    dx = operands.next();
    dz = operands.next(has_gru_dz);
    dh = operands.next();
    dc = operands.next(has_c);
    dy = operands.next();
    weight = operands.next();
    gates = operands.next(has_gates(kind));
    y = operands.next(!has_c);
    c = operands.next(has_c);
    c_before = operands.next(has_c);
    h_before = operands.next(has_gru_dz);
  }

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    constexpr int gate_parts = gate_count(kind);
    __shared__ T parts[rows * gate_parts * block_threads];  // of the gradients of the gates
    const int n = sizes.n;
    const Share<rows> share(item, n);
    CellGradients<T> grads[rows];  // of which h and c are carried from step to step
    std::int64_t lengths[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sequence = share.first + r;
      lengths[r] = sizes.length(sequence);
      if (has_c && share.is_there && sizes.has(sequence)) {
        grads[r].c = dy[sizes.place(sizes.steps, sequence) + share.element];
      }
    }
    for (std::int64_t s = sizes.steps - 1; s >= 0; --s) {
      if (share.is_there) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          if (sizes.has(share.first + r)) take(s, share.first + r, share.element, lengths[r], grads[r]);
#pragma unroll
          for (int gate = 0; gate < gate_parts; ++gate) {
            parts[((share.place + r) * gate_parts + gate) * n + share.element] = grads[r].dz[gate];
          }
        }
      }
      team.meet();
      if (share.is_there) {
        T sums[rows] = {};
        const T* column = weight + share.element;
#pragma unroll 8
        for (int k = 0; k < gate_parts * n; ++k, column += n) {
          const T factor = __ldg(column);
#pragma unroll
          for (int r = 0; r < rows; ++r) sums[r] += parts[(share.place + r) * gate_parts * n + k] * factor;
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) grads[r].h += sums[r];
      }
      team.meet();
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sequence = share.first + r;
      if (!share.is_there || !sizes.has(sequence)) continue;
      dh[sequence * n + share.element] = grads[r].h;
      if constexpr (has_c) dc[sequence * n + share.element] = grads[r].c;
    }
  }

 private:
  static constexpr bool has_c = kind == RecurrentKind::lstm, has_gru_dz = kind == RecurrentKind::gru;

  // What the state was before step number s, in `all` states or before the first.
  __device__ T before(std::int64_t s, std::int64_t sequence, int element, const T* all, const T* first) const {
    return s == 0 ? first[sequence * sizes.n + element] : all[sizes.place(sizes.step(s - 1), sequence) + element];
  }
  // A step of one sequence.
  __device__ void take(std::int64_t s, std::int64_t sequence, int element, std::int64_t length,
                       CellGradients<T>& grad) const {
    const int n = sizes.n;
    const std::int64_t t = sizes.step(s), place = sizes.place(t, sequence) + element;
    const T given = dy[place] + grad.h;
    if (t < length) {
      OldCell<T> old;
      if constexpr (has_gates(kind)) {
        const T* const from = gates + sizes.place(t, sequence, kept_gates) + element;
#pragma unroll
        for (int gate = 0; gate < kept_gates; ++gate) old.gates[gate] = from[gate * n];
      } else {
        old.h = y[place];
      }
      if constexpr (has_gru_dz) old.h_before = before(s, sequence, element, y, h_before);
      if constexpr (has_c) {
        old.c = c[place];
        old.c_before = before(s, sequence, element, c, c_before);
      }
      grad = cell_gradients<kind>(old, given, grad.c);
    } else {
      CellGradients<T> none;
      none.h = given;
      none.c = grad.c;
      grad = none;
    }
    const std::int64_t of_gates = sizes.place(t, sequence, gate_count(kind)) + element;
#pragma unroll
    for (int gate = 0; gate < gate_count(kind); ++gate) {
      dx[of_gates + gate * n] = grad.dx[gate];
      if constexpr (has_gru_dz) dz[of_gates + gate * n] = grad.dz[gate];
    }
  }
};

// Threads with several sequences read the weight once for all of them, but leave multiprocessors idle where there are few.
template <template <RecurrentKind, class, int> class Body>
void run_all(const KernelCall& call, int) {
  constexpr std::int64_t few_blocks = 32;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    visit_kind(call.attributes<RecurrentAttributes>().kind, [&]<RecurrentKind kind>() {
      const auto launch_rows = [&]<int rows>(std::integral_constant<int, rows>) {
        const Body<kind, T, rows> body(call);
        const std::int64_t of_block = Share<rows>::slots(body.sizes.n) * rows;
        for_teams<block_threads>(call, (body.sizes.sequences + of_block - 1) / of_block, body);
      };
      const Sizes sizes = Body<kind, T, 1>(call).sizes;
      if (sizes.sequences <= few_blocks * Share<1>::slots(sizes.n)) {
        return launch_rows(std::integral_constant<int, 1>());
      }
      launch_rows(std::integral_constant<int, 4>());
    });
  });
}

}  // namespace

constinit const Kernel kernels::recurrent{.run = run_all<AllSteps>};
constinit const Kernel kernels::recurrent_grad{.run = run_all<AllGradients>};

}  // namespace asyncgrad::detail::cuda

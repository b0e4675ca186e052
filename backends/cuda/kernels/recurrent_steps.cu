// All steps of a recurrent layer in one launch, for layers so small that a launch takes longer than a step. A block takes
// some sequences through all steps: it shares their states, which its threads multiply by the columns of the weight.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/recurrent_formulas.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr std::size_t most_shared_bytes = 48 << 10;  // of a block, which the compiler lays out

static_assert(most_elements_of_all_steps <= block_threads, "a thread has one element of a state at most");

// How a block's threads share some sequences: those of a group take one element of the state of `rows` sequences each,
// several threads add up parts of a sum, and the first of them finishes it.
struct Groups {
  int n, count, parts;

  Groups(std::int64_t elements, std::int64_t groups_of_all)
      : n(static_cast<int>(elements)),
        count(static_cast<int>(std::clamp<std::int64_t>(groups_of_all / busy_blocks, 1, block_threads / n))),
        parts(std::clamp(n / fewest_terms, 1, block_threads / n / count)) {}

 private:
  static constexpr std::int64_t busy_blocks = 132;
  static constexpr int fewest_terms = 8;  // of a part, which costs a barrier
};
template <int rows>
struct Share {
  std::int64_t first;  // sequence
  int element, group;
  int part;       // of each sum
  bool is_there;  // takes part; the others are left over
  bool finishes;  // adds up the parts, and writes the results

  __device__ Share(std::int64_t item, const Groups& groups) {
    const auto thread = static_cast<int>(threadIdx.x);
    const int slot = thread / groups.n;
    element = thread - slot * groups.n;
    part = slot / groups.count;
    group = slot - part * groups.count;
    first = (item * groups.count + group) * rows;
    is_there = part < groups.parts;
    finishes = part == 0;
  }
  // The part of a sum of so many terms: its first term, and the one behind the last.
  __device__ int begin(const Groups& groups, int terms) const { return terms * part / groups.parts; }
  __device__ int end(const Groups& groups, int terms) const { return terms * (part + 1) / groups.parts; }
};

// For each of some columns of a matrix, the sum over the terms of the states' elements times the column's. Loads of many
// terms are under way at a time.
template <int rows, int columns, class T, class State>
__device__ void add_products(T (&sums)[rows][columns], const T* matrix, int distance, int width, int begin, int end,
                             State state) {
  constexpr int at_once = columns == 1 ? 16 : 8;
  for (int k = begin; k < end; k += at_once) {
    T factors[at_once][columns];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
#pragma unroll
      for (int column = 0; column < columns; ++column) {
        if (k + i < end) factors[i][column] = __ldg(matrix + (k + i) * width + column * distance);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (k + i >= end) break;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const T factor = state(r, k + i);
#pragma unroll
        for (int column = 0; column < columns; ++column)
          sums[r][column] = std::fma(factor, factors[i][column], sums[r][column]);
      }
    }
  }
}

// Adds up the parts of all threads with the same element and group, in the order of the parts, for the one that finishes.
// `room` has an element for each thread and sum.
template <int rows, int columns, class T, class Team>
__device__ void add_parts(Team team, T (&sums)[rows][columns], T* room, const Groups& groups,
                          const Share<rows>& share) {
  if (groups.parts == 1) return;
  const auto place = [&](int part) {
    return ((part * groups.count + share.group) * rows * columns) * groups.n + share.element;
  };
  if (share.is_there && !share.finishes) {
#pragma unroll
    for (int i = 0; i < rows * columns; ++i) room[place(share.part) + i * groups.n] = sums[i / columns][i % columns];
  }
  team.meet();
  if (!share.finishes) return;
  for (int part = 1; part < groups.parts; ++part) {
#pragma unroll
    for (int i = 0; i < rows * columns; ++i) sums[i / columns][i % columns] += room[place(part) + i * groups.n];
  }
}

// The forward kernel and the gradient's know this of a layer.
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
  Groups groups(int rows) const { return {n, (sequences + rows - 1) / rows}; }
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
  Groups groups;
  T *y, *c, *gates;  // c and gates are null unless the gradient needs them
  const T *x, *weight, *bias, *h_before, *c_before;

  explicit AllSteps(const KernelCall& call) : sizes(call, call.shape(0)), groups(sizes.groups(rows)) {
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
    __shared__ T room[rows * gate_parts * block_threads];
    static_assert(sizeof states + sizeof room <= most_shared_bytes);
    const int n = sizes.n;
    const Share<rows> share(item, groups);
    NewCell<T> cells[rows];
    std::int64_t lengths[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sequence = share.first + r;
      lengths[r] = sizes.length(sequence);
      if (!share.finishes || !sizes.has(sequence)) continue;
      cells[r].h = h_before[sequence * n + share.element];
      if constexpr (kind == RecurrentKind::lstm) cells[r].c = c_before[sequence * n + share.element];
    }
    for (std::int64_t s = 0; s < sizes.steps; ++s) {
      const std::int64_t t = sizes.step(s);
      T* const group_states = states[s % 2] + share.group * rows * n;
      T inputs[rows][gate_parts];
      T z[rows][gate_parts] = {};
      if (share.finishes) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          group_states[r * n + share.element] = cells[r].h;
          read_inputs(t, share.first + r, share.element, inputs[r], z[r]);
        }
      }
      team.meet();
      if (share.is_there) {
        add_products(z, weight + share.element, n, gate_parts * n, share.begin(groups, n), share.end(groups, n),
                     [&](int r, int k) { return group_states[r * n + k]; });
      }
      add_parts(team, z, room, groups, share);
      if (!share.finishes) continue;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (sizes.has(share.first + r)) take(t, share.first + r, share.element, lengths[r], inputs[r], z[r], cells[r]);
      }
    }
    if constexpr (kind == RecurrentKind::lstm) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (!share.finishes || !sizes.has(share.first + r)) continue;
        y[sizes.place(sizes.steps, share.first + r) + share.element] = cells[r].c;
      }
    }
    team.meet();  // the next item's states come there
  }

 private:
  // Reads what a step needs beside the states: the shares of the input, and the bias, with which the sums begin. It is
  // called before the sums, so that memory has answered when they are there.
  __device__ void read_inputs(std::int64_t t, std::int64_t sequence, int element, T* inputs, T* z) const {
    const T* const from = x + sizes.place(t, sequence, gate_count(kind)) + element;
#pragma unroll
    for (int gate = 0; gate < gate_count(kind); ++gate) {
      inputs[gate] = sizes.has(sequence) ? from[gate * sizes.n] : T(0);
      if (bias != nullptr) z[gate] = bias[gate * sizes.n + element];
    }
  }
  // Takes a step of one sequence.
  __device__ void take(std::int64_t t, std::int64_t sequence, int element, std::int64_t length, const T* inputs,
                       const T* z, NewCell<T>& cell) const {
    const int n = sizes.n;
    if (t < length) {
      cell = next_cell<kind>(inputs, z, cell.h, cell.c);
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
  Groups groups;
  T *dx, *dz, *dh, *dc;  // dz is null if it is dx
  const T *dy, *weight, *gates, *y, *c, *c_before, *h_before;

  explicit AllGradients(const KernelCall& call)
      : sizes(call, call.shape(has_gates(kind) ? 3 : 2)), groups(sizes.groups(rows)) {
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
    __shared__ T of_gates[rows * gate_parts * block_threads];  // the gradients of a step's gates
    __shared__ T room[rows * block_threads];
    static_assert(sizeof of_gates + sizeof room <= most_shared_bytes);
    const int n = sizes.n, terms = gate_parts * n;
    const Share<rows> share(item, groups);
    T* const of_group = of_gates + share.group * rows * terms;
    CellGradients<T> grads[rows];  // of which h and c are carried from step to step
    std::int64_t lengths[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sequence = share.first + r;
      lengths[r] = sizes.length(sequence);
      if (has_c && share.finishes && sizes.has(sequence)) {
        grads[r].c = dy[sizes.place(sizes.steps, sequence) + share.element];
      }
    }
    for (std::int64_t s = sizes.steps - 1; s >= 0; --s) {
      if (share.finishes) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          if (sizes.has(share.first + r)) take(s, share.first + r, share.element, lengths[r], grads[r]);
#pragma unroll
          for (int gate = 0; gate < gate_parts; ++gate) {
            of_group[r * terms + gate * n + share.element] = grads[r].dz[gate];
          }
        }
      }
      team.meet();
      T sums[rows][1] = {};
      if (share.is_there) {
        add_products(sums, weight + share.element, 0, n, share.begin(groups, terms), share.end(groups, terms),
                     [&](int r, int k) { return of_group[r * terms + k]; });
      }
      add_parts(team, sums, room, groups, share);
      if (groups.parts == 1) team.meet();  // the next step's gradients come there
      if (!share.finishes) continue;
#pragma unroll
      for (int r = 0; r < rows; ++r) grads[r].h += sums[r][0];
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sequence = share.first + r;
      if (!share.finishes || !sizes.has(sequence)) continue;
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
  // Takes a step of one sequence.
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
  constexpr std::int64_t few_sequences = 64;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    visit_kind(call.attributes<RecurrentAttributes>().kind, [&]<RecurrentKind kind>() {
      const auto launch_rows = [&]<int rows>(std::integral_constant<int, rows>) {
        const Body<kind, T, rows> body(call);
        const std::int64_t of_block = body.groups.count * rows;
        for_teams<block_threads>(call, (body.sizes.sequences + of_block - 1) / of_block, body);
      };
      if (Body<kind, T, 1>(call).sizes.sequences <= few_sequences) {
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

// One step of an optimiser, of a whole group of parameters: a few launches for many of them, in which a block has a
// part of one parameter. The formulas are those of core/backend/update_rules.h.
#include <tuple>
#include <utility>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/math.cuh"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr std::int64_t part_elements = 4096;
static_assert(elements_per_count % part_elements == 0, "a part has one count");
constexpr int max_parameters = 64;  // that fit into the 4 KiB that a launch passes on

// Some parameters of a group, cut into parts: the j-th array of the i-th one is arrays[j][i].
template <class T, int array_count>
struct Parameters {
  T* arrays[array_count][max_parameters];
  std::int64_t numel[max_parameters];
  std::int64_t first_part[max_parameters + 1];
  bool are_packed[max_parameters];  // every array lies on packs' bounds
  int count;

  std::int64_t parts() const { return first_part[count]; }
  // The parameter that a part belongs to.
  __device__ int owner(std::int64_t part) const {
    int low = 0, high = count;  // first_part[low] <= part < first_part[high]
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first_part[middle] <= part ? low : high) = middle;
    }
    return low;
  }
};

// Calls launch(parameters, the first one's number) for the `count` parameters of a call, as many at a time as fit. The
// last array is that of the gradients, which are `gradients` lists of operands behind the parameters.
template <class T, int array_count, class Launch>
void each_launch(const KernelCall& call, int count, int gradients, Launch launch) {
  for (int first = 0; first < count; first += max_parameters) {
    Parameters<T, array_count> parameters{};
    for (int i = first; i < count && i < first + max_parameters; ++i) {
      const int k = parameters.count++;
      parameters.are_packed[k] = true;
      for (int j = 0; j < array_count; ++j) {
        T* const array = call.data<T>((j + 1 < array_count ? j : gradients) * count + i);
        parameters.arrays[j][k] = array;
        parameters.are_packed[k] = parameters.are_packed[k] && is_aligned_for_packs(array);
      }
      parameters.numel[k] = call.numel(i);
      parameters.first_part[k + 1] =
          parameters.first_part[k] + (parameters.numel[k] + part_elements - 1) / part_elements;
    }
    launch(parameters, first);
  }
}

// --- A rule

template <class Rule>
inline constexpr int arrays_of = 1 + static_cast<int>(Rule::states.size());

// The numbers that the formula reads, in the type of the elements.
template <class Rule, class T>
using Numbers = std::array<T, std::tuple_size_v<decltype(Rule::numbers(typename Rule::Options{}, 1))>>;

template <class Rule, class T>
__host__ __device__ Numbers<Rule, T> numbers_at(const UpdateAttributes& attributes, std::int64_t step) {
  const auto exact = update_numbers<Rule>(attributes, step);
  Numbers<Rule, T> numbers{};
  for (std::size_t i = 0; i < exact.size(); ++i) numbers[i] = static_cast<T>(exact[i]);
  return numbers;
}

// The place of a part's numbers: there is one set for all, or one for each count of steps.
template <class Rule, class T>
struct EqualNumbers {
  Numbers<Rule, T> numbers;
  __device__ const Numbers<Rule, T>& of(int, std::int64_t) const { return numbers; }
};
template <class Rule, class T>
struct NumbersOfCounts {
  const Numbers<Rule, T>* numbers;
  std::int64_t first[max_parameters];

  __device__ const Numbers<Rule, T>& of(int k, std::int64_t begin) const {
    return numbers[first[k] + begin / elements_per_count];
  }
};

// Puts the rule's results at x[k] + i in place of what is there.
template <class Rule, class T, std::size_t... K>
__device__ void apply_at(std::int64_t i, const Numbers<Rule, T>& numbers, T* const* x, T gradient,
                         std::index_sequence<K...>) {
  const auto results = Rule::apply(FloatingMath<T>(), numbers, gradient, x[K][i]...);
  ((x[K][i] = std::get<K>(results)), ...);
}

// The same of a pack of elements: all of it is read before any is written.
template <class Rule, class T, std::size_t... K>
__device__ void apply_at_pack(std::int64_t pack, const Numbers<Rule, T>& numbers, T* const* x, const T* gradients,
                              std::index_sequence<K...> each) {
  const Pack<T> gradient = pack_at(gradients, pack);
  Pack<T> packs[] = {pack_at(x[K], pack)...};
  T* const elements[] = {packs[K].x...};
  for (int j = 0; j < Pack<T>::size; ++j) apply_at<Rule, T>(j, numbers, elements, gradient.x[j], each);
  ((pack_at(x[K], pack) = packs[K]), ...);
}

// A part's elements.
template <class Rule, class T, class NumbersOfPart>
struct UpdatePart {
  static constexpr int arrays = arrays_of<Rule>;
  static_assert(part_elements % Pack<T>::size == 0);

  NumbersOfPart numbers;
  Parameters<T, arrays + 1> parameters;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t part) const {
    const int k = parameters.owner(part);
    const std::int64_t begin = (part - parameters.first_part[k]) * part_elements;
    const std::int64_t rest = parameters.numel[k] - begin;
    const Numbers<Rule, T> here = numbers.of(k, begin);
    T* x[arrays];
    for (int j = 0; j < arrays; ++j) x[j] = parameters.arrays[j][k] + begin;
    const T* const gradients = parameters.arrays[arrays][k] + begin;
    const std::int64_t n = rest < part_elements ? rest : part_elements;
    const std::int64_t packed = parameters.are_packed[k] ? n / Pack<T>::size : 0;
    constexpr auto each = std::make_index_sequence<arrays>();
    team.each(packed, [&](std::int64_t pack) { apply_at_pack<Rule, T>(pack, here, x, gradients, each); });
    team.each(n - packed * Pack<T>::size, [&](std::int64_t j) {
      const std::int64_t i = packed * Pack<T>::size + j;
      apply_at<Rule, T>(i, here, x, gradients[i], each);
    });
  }
};

template <class Rule, class T, class NumbersOfPart>
void launch_parts(const KernelCall& call, const NumbersOfPart& numbers,
                  const Parameters<T, arrays_of<Rule> + 1>& parameters) {
  using Part = UpdatePart<Rule, T, NumbersOfPart>;
  static_assert(sizeof(Part) < 4000);
  for_teams<block_threads>(call, parameters.parts(), Part{numbers, parameters});
}

// --- Counts of steps: first they go up and the numbers of each are worked out, as powers cost more than an element's
// --- step.

// The counts of some parameters, laid one behind another.
struct Counts {
  std::int64_t* steps[max_parameters];
  std::int64_t first[max_parameters + 1];
  int count;
};

template <class Rule, class T>
struct CountStep {
  Counts counts;
  UpdateAttributes attributes;
  Numbers<Rule, T>* numbers;

  __device__ void operator()(std::int64_t i) const {
    int k = 0;
    while (counts.first[k + 1] <= i) ++k;
    numbers[i] = numbers_at<Rule, T>(attributes, ++counts.steps[k][i - counts.first[k]]);
  }
};

// Launches run one after another, so they may share their scratch memory.
std::int64_t scratch_bytes(const KernelCall& call) {
  const auto& attributes = call.attributes<UpdateAttributes>();
  if (!rule_of(attributes).counts_steps) return 0;
  std::int64_t counts = 0;
  for (int i = 0; i < attributes.count; ++i) counts += update_counts(call.numel(i));
  return counts * static_cast<std::int64_t>(max_update_numbers * sizeof(double));
}

template <class Rule, class T>
void run(const KernelCall& call) {
  constexpr int arrays = arrays_of<Rule>;
  const auto& a = call.attributes<UpdateAttributes>();
  if constexpr (!Rule::counts_steps) {
    const EqualNumbers<Rule, T> numbers{numbers_at<Rule, T>(a, 1)};
    each_launch<T, arrays + 1>(call, a.count, arrays,
                               [&](const auto& parameters, int) { launch_parts<Rule, T>(call, numbers, parameters); });
  } else {
    auto* const numbers = reinterpret_cast<Numbers<Rule, T>*>(call.scratch);
    each_launch<T, arrays + 1>(call, a.count, arrays + 1, [&](const auto& parameters, int first) {
      Counts counts{};
      NumbersOfCounts<Rule, T> of_counts{numbers, {}};
      for (int k = 0; k < parameters.count; ++k) {
        counts.steps[k] = call.data<std::int64_t>(arrays * a.count + first + k);
        of_counts.first[k] = counts.first[k];
        counts.first[k + 1] = counts.first[k] + update_counts(parameters.numel[k]);
      }
      counts.count = parameters.count;
      for_each(call, counts.first[counts.count], CountStep<Rule, T>{counts, a, numbers});
      launch_parts<Rule, T>(call, of_counts, parameters);
    });
  }
}

// --- Some rows of one parameter: its states, indices and places (n) and the gradient (n, C) follow it. The row
// --- indices[k] gets the gradient's row k, where k is the first place with this index. All counts of steps are alike.

template <class Rule, class T>
struct CountStepOfRows {
  std::int64_t* steps;
  UpdateAttributes attributes;
  Numbers<Rule, T>* numbers;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t step = ++steps[i];
    if (i == 0) *numbers = numbers_at<Rule, T>(attributes, step);
  }
};

// An index out of range changes nothing.
template <class Rule, class T>
struct UpdateRows {
  static constexpr int arrays = arrays_of<Rule>;

  T* x[arrays];
  const T* gradient;
  const std::int64_t *indices, *places;
  std::int64_t rows, width;
  const Numbers<Rule, T>* counted;  // null: `numbers`
  Numbers<Rule, T> numbers;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, width);
    const std::int64_t row = indices[at.quotient];
    if (places[at.quotient] != at.quotient || row < 0 || row >= rows) return;
    apply_at<Rule, T>(row * width + at.remainder, counted == nullptr ? numbers : *counted, x, gradient[i],
                      std::make_index_sequence<arrays>());
  }
};

template <class Rule, class T>
void run_rows(const KernelCall& call) {
  constexpr int arrays = arrays_of<Rule>;
  const auto& a = call.attributes<UpdateAttributes>();
  const int in = arrays + (Rule::counts_steps ? 1 : 0);
  UpdateRows<Rule, T> update{};
  for (int i = 0; i < arrays; ++i) update.x[i] = call.data<T>(i);
  update.indices = call.data<std::int64_t>(in);
  update.places = call.data<std::int64_t>(in + 1);
  update.gradient = call.data<T>(in + 2);
  update.rows = call.shape(0)[0];
  update.width = call.shape(in + 2)[1];
  if constexpr (Rule::counts_steps) {
    auto* const numbers = reinterpret_cast<Numbers<Rule, T>*>(call.scratch);
    for_each(call, call.numel(arrays), CountStepOfRows<Rule, T>{call.data<std::int64_t>(arrays), a, numbers});
    update.counted = numbers;
  } else {
    update.numbers = numbers_at<Rule, T>(a, 1);
  }
  for_each(call, call.numel(in + 2), update);
}

std::int64_t rows_scratch_bytes(const KernelCall&) { return max_update_numbers * sizeof(double); }

// --- All rules

using Run = void (*)(const KernelCall& call);
template <class T, std::size_t... I>
constexpr std::array<Run, rules::count> runs_of(std::index_sequence<I...>) {
  return {run<std::tuple_element_t<I, rules::Rules>, T>...};
}

template <class T, std::size_t... I>
constexpr std::array<Run, rules::count> row_runs_of(std::index_sequence<I...>) {
  return {run_rows<std::tuple_element_t<I, rules::Rules>, T>...};
}

void run_update_rows(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    static constexpr auto runs = row_runs_of<T>(std::make_index_sequence<rules::count>());
    runs[call.attributes<UpdateAttributes>().rule](call);
  });
}

void run_update(const KernelCall& call, int) {
  const auto& a = call.attributes<UpdateAttributes>();
  if (a.count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    static constexpr auto runs = runs_of<T>(std::make_index_sequence<rules::count>());
    runs[a.rule](call);
  });
}

}  // namespace

constinit const Kernel kernels::update{.run = run_update, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::update_rows{.run = run_update_rows, .scratch_bytes = rows_scratch_bytes};

}  // namespace asyncgrad::detail::cuda

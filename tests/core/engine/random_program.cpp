#include "tests/core/engine/random_program.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/tensor_impl.h"
#include "tests/core/engine/random_training.h"

namespace asyncgrad::tests {

namespace {

std::uint64_t hash_of(const std::vector<float>& values) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211ULL;
  }
  return hash;
}

// A program under way: a handful of tensors that each step reads, replaces, writes in place, waits for, moves or drops.
// Some steps do the same several times, as calls of a launch graph.
class Program {
 public:
  explicit Program(const ProgramOptions& options) : options_(options), random_(options.seed), waits_(options) {}

  Findings run() {
    const Inference inference;
    for (int i = 0; i < 4; ++i) tensors_.push_back(fresh());
    for (int step = 0; step < options_.steps; ++step) {
      take_step();
      waits_.after_step();
    }
    for (const Held& held : tensors_) look_at(held.tensor);
    findings_.replays = graph_.replays();
    return std::move(findings_);
  }

 private:
  struct Held {
    Tensor tensor;
    std::size_t place;  // of its device
  };

  std::size_t draw(std::size_t below) { return random_() % below; }
  Held& any() { return tensors_[draw(tensors_.size())]; }
  Device device(std::size_t place) const { return options_.devices[place]; }

  std::int64_t draw_columns() {
    const std::int64_t sizes[] = {1, 3, 16, 100, 1000, options_.largest / 8};
    return sizes[draw(std::size(sizes))];
  }
  Held fresh() {
    const std::size_t place = options_.devices.size() == 1 ? 0 : draw(options_.devices.size());
    const Shape shape{8, draw_columns()};
    switch (draw(5)) {
      case 4:
        return {made(shape, device(place)), place};
      case 0:
        return {full(shape, 0.5, {.device = device(place)}), place};
      case 1:
        return {uniform(shape, -1, 1, {.device = device(place), .generator = &generator_}), place};
      case 2:
        return {randn(shape, {.device = device(place), .generator = &generator_}), place};
      default:
        return {Tensor::from(std::vector<float>(static_cast<std::size_t>(shape.numel()), 0.25F), shape, device(place)),
                place};
    }
  }
  static Tensor made(const Shape& shape, Device device) {
    if (device.type != DeviceType::cpu) return full(shape, 0.625, {.device = device});
    return source(
        "made", {.shape = shape},
        [](const CustomCall& call) {
          std::this_thread::sleep_for(std::chrono::microseconds(call.output_shape().numel() % 128));
          std::ranges::fill(call.output<float>(), 0.625F);
        },
        device);
  }
  // A tensor of the shape and device of `other`.
  Tensor like(const Held& other) {
    for (std::size_t tries = 0; tries < tensors_.size(); ++tries) {
      const Held& candidate = any();
      if (candidate.place == other.place && candidate.tensor.shape() == other.tensor.shape()) return candidate.tensor;
    }
    return other.tensor * 0.5;
  }
  void keep(Held held) {
    if (tensors_.size() < 8) {
      tensors_.push_back(std::move(held));
    } else {
      any() = std::move(held);
    }
  }
  void keep(Tensor tensor, const Held& beside) { keep({std::move(tensor), beside.place}); }
  // Keeps a copy on the next device, which may be the same one.
  void move(const Held& held) {
    const std::size_t place = (held.place + 1) % options_.devices.size();
    const bool is_there = held.tensor.device() == device(place);
    keep({is_there ? held.tensor.clone() : held.tensor.to(device(place)), place});
  }
  void look_at(const Tensor& tensor) { findings_.seen.push_back(text_of(tensor)); }
  // Asks whether the tensor is ready until it is, and reads its bytes without a wait, as a thread may then.
  void poll(const Held& held) {
    const Tensor& x = held.tensor;
    while (!x.is_ready()) std::this_thread::yield();
    const detail::Storage& storage = *x.impl()->storage;
    const bool has_bytes = x.device().type == DeviceType::cpu && !storage.is_poisoned();
    std::vector<float> values(has_bytes ? static_cast<std::size_t>(x.numel()) : 0);
    if (has_bytes) std::memcpy(values.data(), storage.data + x.impl()->offset_bytes, values.size() * sizeof(float));
    look_at(x);
    if (has_bytes && findings_.seen.back() != std::to_string(hash_of(values))) {
      findings_.seen.back() += " and other bytes when it was ready";
    }
  }
  void fail_somewhere() {
    Held held = any();
    // Rows out of range are found only when the operation runs.
    Tensor rows = Tensor::from(std::vector<std::int64_t>{0, 8}, {2}, device(held.place));
    ++findings_.faults;
    if (draw(2) == 0) {
      keep(held.tensor - sum(take(held.tensor, rows), 0), held);
    } else {
      held.tensor += sum(take(like(held), rows), 0);
    }
  }
  // Calls kernels of the program's own, one with several tiles and one that writes in place. Devices other than the CPU
  // compute the same with the library's kernels.
  static Tensor custom_step(const Tensor& x, const Tensor& other) {
    if (x.device().type != DeviceType::cpu) return x * 0.5 + other;
    const auto halve = [](const CustomCall& call) {
      const auto in = call.input<float>(0);
      const auto out = call.output<float>();
      const auto [begin, end] = call.part_of(static_cast<std::int64_t>(in.size()));
      for (std::int64_t i = begin; i < end; ++i) {
        out[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i)] * 0.5F;
      }
    };
    const auto add = [](const CustomCall& call) {
      const auto to = call.in_place<float>(0);
      const auto from = call.input<float>(1);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    const Tensor y = custom("halve", {.shape = x.shape()}, {x}, halve, {.tiles = 3});
    custom_many("add", {}, {y, other}, add, {.in_place = {0}});
    return y;
  }
  // Computes with masks of bool, or with bfloat16.
  Tensor of_other_types(Tensor& x, const Tensor& other) {
    switch (draw(3)) {
      case 0:
        return where((x < other) & (x >= -0.5), x, other * 0.5);
      case 1:
        x *= x != other;
        return x * isfinite(other) + mean(x > 0, 1, true) * 1e-3;
      default:
        return concat({x.to(bfloat16).slice(0, 4), other.to(bfloat16).slice(4, 8)}).to(float32);
    }
  }
  // Repeats a step several times, as calls of a launch graph. It writes in place and takes and returns memory, with
  // other numbers each time, and maybe with a wait or a copy in the middle.
  void repeat(const Held& held) {
    Tensor x = held.tensor;
    const Tensor other = like(held);
    const std::size_t times = 3 + draw(3);
    const bool looks = draw(3) == 0, moves = draw(3) == 0;
    for (std::size_t i = 0; i < times; ++i) {
      graph_([&] {
        x *= 0.5;
        x += tanh(x + other) * (0.125 * static_cast<double>(i));
        if (looks) look_at(x);
        if (moves) move(held);
        x += uniform(x.shape(), -1, 1, {.device = x.device(), .generator = &generator_});
      });
    }
  }
  void take_step() {
    if (options_.devices.size() > 1 && draw(6) == 0) return move(any());
    Held held = any();
    Tensor& x = held.tensor;
    switch (draw(options_.with_failures ? 18 : 17)) {
      case 0:
        keep(fresh());
        break;
      case 1:
        keep(x + like(held), held);
        break;
      case 2:
        keep(relu(x) * 0.75, held);
        break;
      case 3:
        keep(tanh(x - like(held)), held);
        break;
      case 4:
        keep(x + sum(x, 1, true) * 1e-3, held);
        break;
      case 5:
        any().tensor += 0.125;
        break;
      case 6:
        x *= like(held);
        break;
      case 7:
        x.slice(2, 5).copy_(x.slice(4, 7) * 0.5);
        break;
      case 8:
        x.slice(0, 4) += x.slice(4, 8);
        break;
      case 9:
        keep(x.reshape({x.size(1), x.size(0)}).transpose().clone(), held);
        break;
      case 10:
        x.fill_(0.375);
        break;
      case 11:
        if (const std::size_t how = draw(6); how < 2) {
          look_at(x);
        } else if (how == 2) {
          poll(held);
        }
        break;
      case 12:
        if (tensors_.size() > 2) tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(draw(tensors_.size())));
        break;
      case 13:
        if (draw(4) == 0) mark().wait();
        if (draw(4) == 0) static_cast<void>(exp(x));  // a result that nobody keeps
        break;
      case 14:
        if (draw(2) == 0) repeat(held);
        break;
      case 15:
        keep(custom_step(x, like(held) * 0.5), held);
        break;
      case 16:
        keep(of_other_types(x, like(held)), held);
        break;
      default:
        fail_somewhere();
        break;
    }
  }

  ProgramOptions options_;
  std::mt19937_64 random_;
  Generator generator_{7};
  LaunchGraph graph_{"part"};
  std::vector<Held> tensors_;
  StepWaits waits_;
  Findings findings_;
};

// A thread that waits for operations of the program, so that their order changes and nothing else.
class Onlooker {
 public:
  explicit Onlooker(std::uint64_t seed) : thread_([this, seed] { look(seed); }) {}
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;
  ~Onlooker() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void look(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!is_over_) {
      const std::uint64_t youngest = detail::Engine::get().next_number() - 1, back = random() % 50;
      const std::uint64_t number = youngest > back ? youngest - back : youngest;
      detail::wait_until(detail::Engine::get().queue(), {.number = number, .all = false}, number);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    }
  }

  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

Findings findings_of(const ProgramOptions& options) {
  return options.trains ? run_training(options) : Program(options).run();
}

std::atomic<std::uint64_t> delay_seed{0}, fault_rarity{0}, first_number{0};

void delay(std::uint64_t number) {
  const std::uint64_t draw = (number ^ delay_seed.load(std::memory_order_relaxed)) * 0x9E3779B97F4A7C15ULL >> 54;
  if (draw < 128) std::this_thread::sleep_for(std::chrono::microseconds(draw));
  const std::uint64_t rarity = fault_rarity.load(std::memory_order_relaxed);
  const std::uint64_t place = number - first_number.load(std::memory_order_relaxed);
  if (rarity != 0 && (place * 0x9E3779B97F4A7C15ULL >> 40) % rarity == 0) throw Error("made to fail");
}

}  // namespace

std::string text_of(const Tensor& tensor) {
  try {
    return std::to_string(hash_of(tensor.to_vector<float>()));
  } catch (const Error& error) {
    return error.what();
  }
}

void StepWaits::after_step() {
  if (one_in_ > 0 && random_() % static_cast<std::uint64_t>(one_in_) == 0) mark().wait();
  if (in_flight_ == 0) return;
  marks_.push_back(mark());
  if (marks_.size() <= static_cast<std::size_t>(in_flight_)) return;
  marks_.front().wait();
  marks_.pop_front();
}

Outcome run_program(const ProgramOptions& options, const EngineOptions& engine) {
  set_engine_options(engine);
  first_number.store(detail::Engine::get().next_number(), std::memory_order_relaxed);
  std::vector<std::int64_t> before;
  for (const Device device : options.devices) {
    before.push_back(memory_figures(device).live_bytes);
    reset_peaks(device);
  }
  Outcome outcome;
  {
    std::optional<Onlooker> onlooker;
    if (options.has_onlooker) onlooker.emplace(options.seed);
    static_cast<Findings&>(outcome) = findings_of(options);
  }
  mark().wait();
  outcome.earlier_limits.resize(options.devices.size());
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const MemoryFigures figures = memory_figures(options.devices[i]);
    const bool is_unbounded = figures.budget_bytes < 0;
    const std::int64_t limit = is_unbounded ? -1 : std::max(figures.budget_bytes, outcome.earlier_limits[i]);
    outcome.memory.push_back({.peak_live = figures.peak_live_bytes,
                              .serial_peak = figures.serial_peak_bytes,
                              .limit = limit,
                              .under_way = figures.peak_under_way_bytes,
                              .left_live = figures.live_bytes - before[i]});
  }
  outcome.faults += recover();
  return outcome;
}

std::vector<std::vector<std::string>> run_together(const std::vector<ProgramOptions>& programs,
                                                   const EngineOptions& engine) {
  set_engine_options(engine);
  std::vector<std::vector<std::string>> seen(programs.size());
  std::vector<std::thread> front_ends;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    front_ends.emplace_back([&seen, &programs, i] { seen[i] = findings_of(programs[i]).seen; });
  }
  for (std::thread& front_end : front_ends) front_end.join();
  return seen;
}

RandomDelays::RandomDelays(std::uint64_t seed, std::uint64_t fail_one_in) {
  delay_seed.store(seed, std::memory_order_relaxed);
  fault_rarity.store(fail_one_in, std::memory_order_relaxed);
  detail::Engine::get().set_hook(delay);
}
RandomDelays::~RandomDelays() { detail::Engine::get().set_hook(nullptr); }

}  // namespace asyncgrad::tests

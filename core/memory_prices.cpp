#include "asyncgrad/core/memory_prices.h"

#include <fmt/format.h>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/random.h"

namespace asyncgrad {

namespace {

// What dry runs change.
struct Kept {
  EngineOptions options = engine_options();
  Generator generator = default_generator();

  void put_back() const {
    recover();
    set_engine_options(options);
    default_generator() = generator;
  }
};

struct Counts {
  std::int64_t serial_peak_bytes;
  EngineFigures figures;
};

// Of the second step under these options.
Counts dry_run(const EngineOptions& options, const std::function<void()>& step, Device device) {
  set_engine_options(options);
  reset_peaks(device);
  step();
  const EngineFigures first = engine_figures();
  step();
  return {memory_figures(device).serial_peak_bytes, engine_figures().since(first)};
}

std::vector<MemoryPrice> prices_of(const std::function<void()>& step, const std::vector<double>& shares, Device device,
                                   const Kept& before) {
  EngineOptions options = before.options;
  options.schedule = Schedule::dry_run;
  options.recompute_to_fit = false;
  const std::int64_t serial_peak = dry_run(options, step, device).serial_peak_bytes;
  options.recompute_to_fit = true;
  std::vector<MemoryPrice> prices;
  for (const double share : shares) {
    default_generator() = before.generator;
    const auto budget = static_cast<std::int64_t>(share * static_cast<double>(serial_peak));
    options.memory_budget = MemoryBudget::bytes(budget);
    const auto [peak, figures] = dry_run(options, step, device);
    prices.push_back({.share = share,
                      .serial_peak_bytes = serial_peak,
                      .budget_bytes = budget,
                      .recompute_peak_bytes = peak,
                      .recomputed_operations = figures.recomputed_operations,
                      .added_work = figures.added_work()});
  }
  return prices;
}

}  // namespace

std::vector<MemoryPrice> memory_prices(const std::function<void()>& step, const std::vector<double>& shares,
                                       Device device) {
  for (const double share : shares) {
    if (!(share > 0 && share <= 1)) {
      throw_error("memory_prices", fmt::format("shares of the serial peak are above 0 and at most 1, got {}", share));
    }
  }
  wait_all();
  const Kept before;
  try {
    std::vector<MemoryPrice> prices = prices_of(step, shares, device, before);
    before.put_back();
    return prices;
  } catch (...) {
    before.put_back();
    throw;
  }
}

}  // namespace asyncgrad

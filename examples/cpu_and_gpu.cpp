// Products on the CPU, on a GPU, and copies between them, one after the other and all at once; needs a GPU.
#include <fmt/format.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

std::vector<ag::Tensor> run(const ag::Tensor& x, int times) {
  std::vector<ag::Tensor> products;
  for (int i = 0; i < times; ++i) products.push_back(ag::matmul(x, x));
  return products;
}

void show_with_gpu(support::Demo& demo) {
  const std::int64_t size = demo.size({.small = 100, .usual = 2000, .book = 4000});
  const ag::Tensor on_cpu = ag::uniform({size, size}, 0, 1, {.device = "cpu"});
  const ag::Tensor on_gpu = ag::uniform({size, size}, 0, 1, {.device = "cuda:0"});
  const auto copy = [](const std::vector<ag::Tensor>& products) {
    for (const ag::Tensor& y : products) y.to("cpu");
  };
  copy(run(on_gpu, 2));  // warm up
  run(on_cpu, 1);

  std::vector<ag::Tensor> products;
  const double cpu_s = demo.benchmark("CPU", [&] {
    run(on_cpu, 5);
    ag::wait_all();
  });
  const double gpu_s = demo.benchmark("GPU", [&] {
    products = run(on_gpu, 50);
    ag::wait_all();
  });
  const double copy_s = demo.benchmark("copies to the CPU", [&] {
    copy(products);
    ag::wait_all();
  });
  const auto all = [&] {
    run(on_cpu, 5);
    copy(run(on_gpu, 50));
    ag::wait_all();
  };
  const double all_s = demo.benchmark("all at once", all);
  const double sum_s = cpu_s + gpu_s + copy_s;
  demo.claim(all_s < 0.9 * sum_s,
             fmt::format("All at once take less than the sum of their parts: {} of {}.", seconds_text(all_s),
                         seconds_text(sum_s)),
             {{"cpu_s", cpu_s}, {"gpu_s", gpu_s}, {"copy_s", copy_s}, {"all_s", all_s}});
  demo.timeline("Products on the CPU and on the GPU, copies to the CPU", all);
}

void show(support::Demo& demo) {
  try {
    ag::zeros({}, {.device = "cuda:0"});
  } catch (const ag::Error& error) {
    demo.skip(
        fmt::format("This needs a GPU, and a build that knows it: {}.\nWith two parts of the CPU instead: "
                    "two_devices and compute_and_copy.",
                    error.what()));
    return;
  }
  show_with_gpu(demo);
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }

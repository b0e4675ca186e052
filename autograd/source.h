// Data that functions of the program read or make.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "asyncgrad/autograd/custom.h"
#include "asyncgrad/core/custom_call.h"
#include "asyncgrad/core/device.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Data that a function of the program makes: it reads a file, decodes, draws. It runs on threads of its own, of which
// there are EngineOptions::source_threads, so it may sleep or wait for a file. Otherwise the rules for kernels hold.
// Sources run ahead of the program's other operations as far as the memory budget allows. So a source that is queued
// for the next batch reads it ahead of time:
//
//   ag::Tensor x = read(0);  // ag::source("read", {.shape = {256, 784}}, [](const ag::CustomCall& call) { … })
//   for (int batch = 0; batch < batches; ++batch) {
//     train(x);
//     x = read(batch + 1);  // is read while the batch before is computed
//   }
//
// Several sources may run at once, and end in any order: a function that others share takes a lock. Throws Error for a
// device that is no part of the CPU. The first source waits until everything is finished.
Tensor source(std::string_view name, const CustomOutput& output, std::function<void(const CustomCall&)> function,
              Device device = {}, Location where = Location::current());

// Does the same with several results.
std::vector<Tensor> source_many(std::string_view name, const std::vector<CustomOutput>& outputs,
                                std::function<void(const CustomCall&)> function, Device device = {},
                                Location where = Location::current());

}  // namespace asyncgrad

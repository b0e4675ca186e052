// Compares runs of one training: with barriers, with a few batches in flight, and without barriers. It is not included
// by asyncgrad.h, and is a library of its own: asyncgrad::experiment.
//
//   #include "asyncgrad/asyncgrad.h"
//   #include "asyncgrad/experiment.h"
//   namespace ag = asyncgrad;
//
//   struct Training {
//     std::int64_t batch_size;
//     ag::nn::Dense net{64, 1};
//     ag::optim::SGD sgd{ag::nn::parameters(net), {.lr = 0.01}};
//     void members(ag::nn::Members& m) { m("net", net); }  // whose parameters the runs are compared by
//   };
//   Training make(const ag::experiment::Settings& settings) { return {settings.batch_size}; }
//   ag::Tensor step(Training& t) {
//     const ag::Tensor loss = ag::mean(ag::square(t.net(ag::randn({t.batch_size, 64}))));
//     loss.backward();
//     t.sgd.step();
//     t.sgd.zero_grad();
//     return loss;
//   }
//   int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step); }
//
// The program trains once in each way, each time in a process of its own, and reports a table of times and memory, a
// picture, and the figures as JSON; --help lists its options. The book's stopwatches are here, too.
#pragma once

#include "asyncgrad/experiment/bad_input.h"
#include "asyncgrad/experiment/main.h"
#include "asyncgrad/experiment/options.h"
#include "asyncgrad/experiment/settings.h"
#include "asyncgrad/experiment/timer.h"

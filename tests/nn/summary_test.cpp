#include "asyncgrad/nn/summary.h"

#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/listed_layers.h"

namespace asyncgrad::nn {
namespace {

TEST(Summary, ShowsEveryLayerAndTheTotals) {
  Block block;
  block.second.weight = block.first.weight;
  EXPECT_EQ(summary(Sequential{Dense(64, 128, relu), tanh, block}),
            "layer         kind        tensors                       parameters\n"
            "              Sequential                                         0\n"
            "0             Dense       weight (64, 128), bias (128)        8320\n"
            "1             function                                           0\n"
            "2             Block       [seen (4)]                             0\n"
            "2.first       Scale       weight (1)                             1\n"
            "2.second      Scale       weight (1)                             1\n"
            "2.dense       Dense       weight (2, 3), bias (3)                9\n"
            "2.activation  function                                           0\n"
            "total: 8330 parameters, 4 elements in buffers, 33336 bytes\n");
}

// They are among parameters(net), too.
TEST(Summary, CountsFrozenParameters) {
  Dense dense(2, 3);
  dense.weight.requires_grad_(false);
  EXPECT_EQ(summary(dense),
            "layer  kind   tensors                  parameters\n"
            "       Dense  weight (2, 3), bias (3)           9\n"
            "total: 9 parameters, 36 bytes\n");
}

}  // namespace
}  // namespace asyncgrad::nn

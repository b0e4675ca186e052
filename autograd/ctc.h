// The loss of sequences whose labels are not aligned with their steps.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Connectionist temporal classification: -log of the probability that N sequences of steps give their targets, summed
// over all alignments, in which a label takes one step or several, and blanks lie between labels as they may, and do so
// between equal ones (Graves, Fernández, Gomez and Schmidhuber 2006, "Connectionist Temporal Classification", by the
// sums of their section 4.1 in logarithms).
//
// log_probabilities (T, N, C), as log_softmax() gives them; targets (N, S), of which the first target_lengths[n] count;
// input_lengths (N): how many steps count -> (N). A loss is infinite if there are too few steps for the target. The
// sums are in float64.
//
// Differentiable in log_probabilities, of any order; the second takes T steps of elementary operations. The gradient of
// an infinite loss is NaN at its labels, or 0 if the gradient of the loss is 0. It is the derivative of the formula
// itself, while PyTorch's has the probabilities added to it, which log_softmax() takes away again.
//
// Queued; may wait for room. Targets and lengths are int64, int32 or uint8. Throws Error at the call for other shapes
// and types, for devices that differ, and for a blank outside of [0, C). The wait throws Error for lengths
// beyond T or S, and for labels that count and are the blank or outside of [0, C). A GPU cannot report them: there the
// sample's loss and gradient are NaN.
Tensor ctc(const Arg& log_probabilities, const Arg& targets, const Arg& input_lengths, const Arg& target_lengths,
           std::int64_t blank = 0);

}  // namespace asyncgrad

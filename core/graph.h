// A picture of what is still to be computed.
#pragma once

#include <string>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The unfinished operations that the value of `tensor` waits for, as Graphviz text (`dot -Tsvg`). A box is an
// operation, with its name, the shape of what it writes and its number; an ellipse is a value that is computed already;
// numbers have no border; the tensor itself stands at the end. A dashed arrow keeps an order only: the later operation
// overwrites a value. If everything is finished the tensor stands alone.
//
// Throws Error for Tensor{}. Does not wait for the operations. Any thread may call it while workers run; an operation
// that finishes meanwhile may be shown or not.
std::string to_dot(const Tensor& tensor);

}  // namespace asyncgrad

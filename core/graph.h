// What is still to be computed, as a picture.
#pragma once

#include <string>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The queued and unfinished operations that the value of `tensor` waits for, as Graphviz text (`dot -Tsvg`): a box for
// each operation with its name, the shape of what it writes and its number; ellipses for values that are there already;
// plain numbers; the tensor itself at the end. Dashed arrows only keep the order: the value before is overwritten.
// Where everything is finished the tensor stands alone. Throws Error for Tensor{}. Does not wait for any of it; any
// thread may call it while workers run, and what finishes meanwhile may be missing or still there.
std::string to_dot(const Tensor& tensor);

}  // namespace asyncgrad

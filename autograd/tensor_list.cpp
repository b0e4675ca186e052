#include "asyncgrad/autograd/tensor_list.h"

namespace asyncgrad {

std::span<const Tensor> TensorList::all() const { return {first_, size_}; }

}  // namespace asyncgrad

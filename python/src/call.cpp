#include "call.h"

namespace asyncgrad::python {

TensorObjects Call::results(std::vector<Tensor>&& tensors) const {
  TensorObjects list;
  for (Tensor& tensor : tensors) list.append(result(std::move(tensor)));
  return list;
}

}  // namespace asyncgrad::python

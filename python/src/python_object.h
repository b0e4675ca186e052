// Python objects that the library's threads hold.
#pragma once

#include <memory>

#include "nb.h"

namespace asyncgrad::python {

// Keeps an object alive. Any thread may copy and destroy it, also without the interpreter's lock; a thread of Python
// releases the object later.
class HeldObject {
 public:
  HeldObject() = default;
  explicit HeldObject(nb::object object);
  nb::handle get() const;

 private:
  std::shared_ptr<void> held_;
};

}  // namespace asyncgrad::python

// nanobind, which is `nb` here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace asyncgrad::python {

namespace nb = nanobind;

}  // namespace asyncgrad::python

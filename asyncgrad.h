// Everything that is public.
#pragma once

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/core/scalar.h"
#include "asyncgrad/core/shape.h"
#include "asyncgrad/core/tensor.h"

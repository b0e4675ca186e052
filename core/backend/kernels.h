// All that kernels, and those who queue operations, need of the tables. Internal.
#pragma once

#include "asyncgrad/core/backend/attributes/collective.h"
#include "asyncgrad/core/backend/attributes/creation.h"
#include "asyncgrad/core/backend/attributes/custom.h"
#include "asyncgrad/core/backend/attributes/elementwise.h"
#include "asyncgrad/core/backend/attributes/movement.h"
#include "asyncgrad/core/backend/attributes/products.h"
#include "asyncgrad/core/backend/attributes/reductions.h"
#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/backend/attributes/windows.h"
#include "asyncgrad/core/backend/backend.h"

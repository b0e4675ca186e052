#include "tests/core/no_new.h"

#include "tests/support/replaced_new.h"

namespace asyncgrad::tests {

namespace {

constinit thread_local bool is_refused = false;

}  // namespace

bool is_new_refused() noexcept { return is_refused; }

NoNew::NoNew() { is_refused = true; }
NoNew::~NoNew() { is_refused = false; }

}  // namespace asyncgrad::tests

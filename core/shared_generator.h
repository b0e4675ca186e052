// The process's default generator in a front end whose threads take turns, as those of Python do. Internal.
#pragma once

namespace asyncgrad::detail {

// Lets any thread use the default generator. Call it before a second thread does. In C++ the generator belongs to one
// thread.
void share_default_generator();

}  // namespace asyncgrad::detail

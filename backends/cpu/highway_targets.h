// Which instruction sets kernels are compiled for: to be included before hwy/foreach_target.h. Internal.
//
// AVX-512, AVX2 and the compiler's own baseline. The ones between are left out: processors without AVX2 still compute,
// and each set costs as much time to compile again.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)

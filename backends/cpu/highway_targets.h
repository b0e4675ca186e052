// The instruction sets for which kernels are compiled. Include it before hwy/foreach_target.h. Internal.
//
// They are AVX-512, AVX2 and the compiler's own baseline, on which processors without AVX2 run. The instruction sets in
// between are left out, because each set multiplies the time of compilation.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)

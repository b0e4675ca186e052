# Headers of the standard library that nearly every source includes: they are compiled once for each kind of target. Each
# source still includes what it uses; builds without precompiled headers check that, as that of clang-tidy is one.
set(ASYNCGRAD_STANDARD_HEADERS <algorithm> <array> <atomic> <cmath> <cstddef> <cstdint> <deque> <functional> <limits> <map>
  <memory> <optional> <span> <string> <string_view> <type_traits> <unordered_map> <utility> <vector>)

# asyncgrad_precompile(TARGET [HEADER...]) compiles HEADERs of other libraries with them, such as <gmock/gmock.h>. Headers of
# this tree are not for it: each change of one would compile all again.
function(asyncgrad_precompile target)
  set(headers ${ARGN} ${ASYNCGRAD_STANDARD_HEADERS})
  list(TRANSFORM headers REPLACE "<(.*)>" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
  # Without the time at which it was made, clang's precompiled header is the same in every build, for ccache.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

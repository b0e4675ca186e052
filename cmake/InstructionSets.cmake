# Chooses the instruction sets for which the CPU's kernels are compiled. Each costs the compiler as much as the others, and
# a processor uses one of them. The kernels of one instruction set are the same in both cases, and so are their results.
set(ASYNCGRAD_INSTRUCTION_SETS all CACHE STRING
  "The CPU's kernels are for 'all' processors, or only for those with the instruction sets of this one: 'native'")
set_property(CACHE ASYNCGRAD_INSTRUCTION_SETS PROPERTY STRINGS all native)

if(ASYNCGRAD_INSTRUCTION_SETS STREQUAL "native")
  if(NOT DEFINED ASYNCGRAD_NATIVE_TARGET)
    try_run(ran compiled ${PROJECT_BINARY_DIR}/native_target ${PROJECT_SOURCE_DIR}/cmake/native_target.cpp
      CMAKE_FLAGS -DCMAKE_CXX_STANDARD=20 LINK_LIBRARIES hwy::hwy RUN_OUTPUT_VARIABLE target)
    string(STRIP "${target}" target)
    if(NOT compiled OR NOT ran EQUAL 0)
      message(FATAL_ERROR "Highway could not be asked for this processor's instruction sets: ${target}")
    endif()
    set(ASYNCGRAD_NATIVE_TARGET "${target}" CACHE INTERNAL "Highway's name of this processor's best instruction set")
  endif()
  message(STATUS "Kernels are compiled for this processor alone: ${ASYNCGRAD_NATIVE_TARGET}")
  # Highway takes its one target for the compiler's baseline, and still sets the instruction set of each kernel by an
  # attribute. All other code is for any processor, so that the library can refuse a processor.
  target_compile_definitions(asyncgrad PRIVATE HWY_COMPILE_ONLY_STATIC)
  if(NOT ASYNCGRAD_NATIVE_TARGET STREQUAL "baseline")
    target_compile_definitions(asyncgrad PRIVATE HWY_BASELINE_TARGETS=${ASYNCGRAD_NATIVE_TARGET})
  endif()
elseif(NOT ASYNCGRAD_INSTRUCTION_SETS STREQUAL "all")
  message(FATAL_ERROR "ASYNCGRAD_INSTRUCTION_SETS must be all or native, got ${ASYNCGRAD_INSTRUCTION_SETS}")
endif()

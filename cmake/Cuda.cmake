# Adds the CUDA backend, for the GPUs from compute capability 7.5 on that are common, and as PTX for later ones, unless
# CMAKE_CUDA_ARCHITECTURES says otherwise.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90)
endif()
enable_language(CUDA)
find_package(CUDAToolkit 12.5 REQUIRED)
# CMake 3.25 does not know nvcc's option for C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS backends/cuda/*.cpp backends/cuda/*.cu)
target_sources(asyncgrad PRIVATE ${cuda_sources})
# The target is older than the language, whose settings it does not have.
set_target_properties(asyncgrad PROPERTIES
  CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}" CUDA_COMPILER_LAUNCHER "${CMAKE_CUDA_COMPILER_LAUNCHER}")
# Kernels call the formulas, which are constexpr. No product is fused with a sum unless the source says so.
target_compile_options(asyncgrad PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --fmad=false>)
target_compile_definitions(asyncgrad PRIVATE ASYNCGRAD_CUDA)
# The lowest one, below which a GPU is refused; none where words such as "native" stand for them.
string(REGEX MATCHALL "[0-9]+" numbers "${CMAKE_CUDA_ARCHITECTURES}")
list(SORT numbers COMPARE NATURAL)
if(numbers)
  list(GET numbers 0 lowest)
  set_source_files_properties(backends/cuda/found_gpus.cpp PROPERTIES COMPILE_DEFINITIONS ASYNCGRAD_LOWEST_CAPABILITY=${lowest})
endif()
# cuBLASLt is loaded when it is first used, see backends/cuda/cublaslt.h.
set_source_files_properties(backends/cuda/cublaslt.cpp PROPERTIES
  COMPILE_DEFINITIONS ASYNCGRAD_CUDA_LIBRARIES="${CUDAToolkit_LIBRARY_DIR}")
target_link_libraries(asyncgrad PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})

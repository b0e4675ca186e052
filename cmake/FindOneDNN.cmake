# Finds oneDNN, first in the private prefix that scripts/setup.sh fills (.deps/onednn), then in the system.
# Defines the target OneDNN::dnnl, OneDNN_VERSION, and OneDNN_PRIVATE, which is true for the private prefix.
cmake_path(SET OneDNN_PREFIX NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../.deps/onednn)
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS ${OneDNN_PREFIX}/include)
find_library(OneDNN_LIBRARY dnnl HINTS ${OneDNN_PREFIX}/lib)
if(OneDNN_INCLUDE_DIR)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h version_lines
    REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2.\\3" OneDNN_VERSION "${version_lines}")
endif()
cmake_path(IS_PREFIX OneDNN_PREFIX "${OneDNN_LIBRARY}" OneDNN_PRIVATE)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION
  REASON_FAILURE_MESSAGE "scripts/setup.sh installs it")
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()

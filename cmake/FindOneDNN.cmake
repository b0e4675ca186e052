# Finds oneDNN: the private prefix that scripts/setup fills (.deps/onednn) before the system's.
# Defines the target OneDNN::dnnl and OneDNN_VERSION.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS ${CMAKE_SOURCE_DIR}/.deps/onednn/include)
find_library(OneDNN_LIBRARY dnnl HINTS ${CMAKE_SOURCE_DIR}/.deps/onednn/lib)
if(OneDNN_INCLUDE_DIR)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h version_lines REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2.\\3" OneDNN_VERSION "${version_lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()

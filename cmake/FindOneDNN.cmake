# Finds oneDNN, first in OneDNN_ROOT, then in the private prefix that scripts/setup.sh fills (.deps/onednn), then in the
# system. As part of another project, by FetchContent for example, it fills the private prefix if there is none.
# Defines the target OneDNN::dnnl, OneDNN_VERSION, and OneDNN_PRIVATE, which is true for the private prefix.
cmake_path(SET OneDNN_PREFIX NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../.deps/onednn)
macro(find_onednn)
  find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS ${OneDNN_PREFIX}/include)
  find_library(OneDNN_LIBRARY dnnl HINTS ${OneDNN_PREFIX}/lib)
endmacro()
find_onednn()
if(NOT (OneDNN_INCLUDE_DIR AND OneDNN_LIBRARY) AND NOT PROJECT_IS_TOP_LEVEL)
  cmake_path(SET OneDNN_SETUP NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../scripts/setup.sh)
  message(STATUS "There is no oneDNN: ${OneDNN_SETUP} --onednn fetches it")
  execute_process(COMMAND ${OneDNN_SETUP} --onednn)
  find_onednn()
endif()
if(OneDNN_INCLUDE_DIR)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h version_lines
    REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2.\\3" OneDNN_VERSION "${version_lines}")
endif()
cmake_path(IS_PREFIX OneDNN_PREFIX "${OneDNN_LIBRARY}" OneDNN_PRIVATE)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION
  REASON_FAILURE_MESSAGE "${CMAKE_CURRENT_LIST_DIR}/../scripts/setup.sh installs it, libdnnl-dev has it, and OneDNN_ROOT names another place")
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()

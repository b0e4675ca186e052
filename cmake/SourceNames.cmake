# asyncgrad_name_sources(TARGET) calls the target's sources asyncgrad/core/tensor.cpp and the like, wherever this tree is.
# core/call_site.cpp tells lines of the library by this prefix from those of the program, which messages name. A compiler
# may be given the whole path of a source, or that from the build folder, as ccache does.
file(RELATIVE_PATH ASYNCGRAD_FROM_BUILD ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
function(asyncgrad_name_sources target)
  foreach(root IN ITEMS ${PROJECT_SOURCE_DIR} ${ASYNCGRAD_FROM_BUILD})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${root}/=asyncgrad/>)
  endforeach()
endfunction()

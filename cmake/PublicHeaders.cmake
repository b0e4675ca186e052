# Lists the public headers: those that asyncgrad.h and experiment.h include, directly or not.
cmake_policy(VERSION 3.25)  # installation scripts set no policies

# Sets `result` to the headers named after it and all that they include, as paths relative to `root`.
function(asyncgrad_public_headers root result)
  set(found ${ARGN})
  set(unread ${ARGN})
  while(unread)
    list(POP_FRONT unread header)
    file(STRINGS ${root}/${header} lines REGEX "^#include \"asyncgrad/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"asyncgrad/([^\"]+)\".*" "\\1" included "${line}")
      if(NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND unread ${included})
      endif()
    endforeach()
  endwhile()
  list(SORT found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

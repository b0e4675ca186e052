# Installs the build in BUILD below WORK, looks at what was installed, then configures, builds and runs the project in
# APP with nothing but that installation.
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(include_dir ${prefix}/include)
file(GLOB_RECURSE installed RELATIVE ${include_dir} ${include_dir}/*)
list(SORT installed)

# What the compiler reads for the two public includes is exactly what is installed.
set(read "")
foreach(root asyncgrad.h experiment.h)
  run("reading ${root}" ${CXX} -std=c++20 -I ${include_dir} -MM -MT asyncgrad ${include_dir}/asyncgrad/${root})
  string(REGEX MATCHALL "${include_dir}/[^ \n\\]+" read_by_one "${output}")
  list(APPEND read ${read_by_one})
endforeach()
list(TRANSFORM read REPLACE "${include_dir}/" "")
list(REMOVE_DUPLICATES read)
list(SORT read)
if(NOT read STREQUAL installed)
  message(FATAL_ERROR "asyncgrad.h and experiment.h include\n  ${read}\nbut installed are\n  ${installed}")
endif()
if(installed MATCHES "core/memory/|core/engine/|core/backend/|core/file/|core/origin/|core/profile/|core/sync/|nn/safetensors/|core/tensor_impl|autograd/node|autograd/update")
  message(FATAL_ERROR "an internal header is installed: ${installed}")
endif()

# Each header compiles alone, and includes nothing but ours and the C++ standard library, whose names have no dot.
foreach(header IN LISTS installed)
  file(STRINGS ${include_dir}/${header} includes REGEX "^[ \t]*#[ \t]*include")
  foreach(include IN LISTS includes)
    if(NOT include MATCHES "^#include (<[a-z_]+>|\"asyncgrad/[a-z0-9_/]+\\.h\")")
      message(FATAL_ERROR "${header} includes what is neither ours nor the standard library's: ${include}")
    endif()
  endforeach()
  file(WRITE ${WORK}/alone/${header}.cpp "#include \"${header}\"\n")
  run("compiling ${header} alone" ${CXX} -std=c++20 -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only -I ${include_dir}
    ${WORK}/alone/${header}.cpp)
endforeach()

run("configuring the application" ${CMAKE_COMMAND} -S ${APP} -B ${WORK}/build -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Release)
run("building the application" ${CMAKE_COMMAND} --build ${WORK}/build)
run("running the application" ${WORK}/build/app)
message(STATUS "${output}")
run("comparing runs of a training" ${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/build/compare --batches 3 --batch-size 8)
foreach(part "none:first_ready" "growth of RSS" "All 7 runs ended with the same parameters, bit for bit" "data: results/compare.json")
  string(FIND "${output}" "${part}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the comparison does not say \"${part}\":\n${output}")
  endif()
endforeach()
run("installing the application" ${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/app)
run("running the installed application" ${WORK}/app/bin/app)
# It needs the libraries that docs/deployment.md names, and no other.
find_program(readelf readelf)
if(readelf)
  run("asking what the application needs" ${readelf} -d ${WORK}/app/bin/app)
  string(REGEX MATCHALL "\\[lib[a-z_+]+" needed "${output}")
  list(TRANSFORM needed REPLACE "\\[lib" "")
  list(REMOVE_ITEM needed dnnl fmt hwy gomp stdc++ m gcc_s c)
  if(needed)
    message(FATAL_ERROR "the application also needs ${needed}")
  endif()
endif()

# The pages and the examples, of which one is built as a reader would.
set(doc_dir ${prefix}/share/doc/asyncgrad)
foreach(file README.md CHANGELOG.md LICENSE docs/guide.md docs/tutorial.md docs/async_training.svg docs/memory/gpt.svg
    examples/README.md examples/data/digits.csv examples/support/demo.h)
  if(NOT EXISTS ${doc_dir}/${file})
    message(FATAL_ERROR "${file} is not installed in ${doc_dir}")
  endif()
endforeach()
if(EXISTS ${doc_dir}/docs/site)
  message(FATAL_ERROR "the sources of the site are installed")
endif()

# A project around the sources, which are there without what setup.sh has installed, as after a download. Building it
# would take minutes.
file(GLOB entries RELATIVE ${SOURCE} ${SOURCE}/*)
list(FILTER entries EXCLUDE REGEX "^(\\..*|build.*)$")  # such as .deps
foreach(entry IN LISTS entries)
  file(MAKE_DIRECTORY ${WORK}/source)
  file(CREATE_LINK ${SOURCE}/${entry} ${WORK}/source/${entry} SYMBOLIC)
endforeach()
file(REMOVE ${WORK}/source/scripts)  # links would lead the script out of the copy
file(COPY ${SOURCE}/scripts DESTINATION ${WORK}/source)
set(around ${CMAKE_COMMAND} -S ${APP}/../around -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX} -D ASYNCGRAD=${WORK}/source)
run("configuring a project around asyncgrad" ${around} -B ${WORK}/around -D OneDNN_ROOT=${ONEDNN})
execute_process(COMMAND ${CMAKE_COMMAND} -E env PIP_NO_INDEX=1 ${around} -B ${WORK}/without
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
find_library(system_onednn dnnl)
if(system_onednn)
  message(STATUS "The system has a oneDNN: a project without one was not tried.")
elseif(status EQUAL 0 OR NOT output MATCHES "setup.sh --onednn fetches it.*OneDNN_ROOT")
  message(FATAL_ERROR "Without oneDNN, the project around asyncgrad says: ${output}")
endif()

# The same without CMake.
find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE description ${prefix}/*/asyncgrad.pc)
  cmake_path(GET description PARENT_PATH folder)
  run("asking pkg-config" ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --cflags --libs asyncgrad)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("building with the flags of pkg-config" ${CXX} -std=c++20 ${APP}/main.cpp ${flags} -o ${WORK}/build/plain)
  run("running what it built" ${WORK}/build/plain)
  run("building the comparison with these flags" ${CXX} -std=c++20 ${APP}/compare.cpp -lasyncgrad_experiment ${flags}
    -o ${WORK}/build/plain_compare)
  run("asking it for help" ${WORK}/build/plain_compare --help)
  run("building an installed example" ${CXX} -std=c++20 ${doc_dir}/examples/own_optimizer.cpp ${flags}
    -o ${WORK}/build/own_optimizer)
  run("running it" ${WORK}/build/own_optimizer)
else()
  message(STATUS "There is no pkg-config here: its flags were not tried.")
endif()

# A program that takes oneDNN along runs in another folder, on a machine without asyncgrad.
if(EXISTS ${prefix}/lib/asyncgrad/libdnnl.so.3)
  run("configuring the application that moves" ${CMAKE_COMMAND} -D MOVES=ON ${WORK}/build)
  run("building it" ${CMAKE_COMMAND} --build ${WORK}/build --target app)
  run("installing it" ${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/moves)
  file(RENAME ${WORK}/moves ${WORK}/moved)
  file(RENAME ${prefix} ${WORK}/gone)
  run("running it in another folder" ${WORK}/moved/bin/app)
endif()
file(REMOVE_RECURSE ${WORK})

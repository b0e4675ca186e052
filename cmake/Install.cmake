# Installs the CMake package, find_package(asyncgrad) with asyncgrad::asyncgrad and, where it was built,
# asyncgrad::experiment, and the same for pkg-config. A private
# oneDNN is installed, too, and so are the pages and the examples, with the site if scripts/docs.sh has built it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/asyncgrad)
set(installed_libraries asyncgrad)
set(installed_roots asyncgrad.h)
if(ASYNCGRAD_EXPERIMENT)
  list(APPEND installed_libraries asyncgrad_experiment)
  list(APPEND installed_roots experiment.h)
endif()
install(TARGETS ${installed_libraries} EXPORT asyncgradTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT asyncgradTargets NAMESPACE asyncgrad:: DESTINATION ${package_dir})

# The installation makes the list, so that a new #include needs no new configuration.
install(CODE "
  include(\"${PROJECT_SOURCE_DIR}/cmake/PublicHeaders.cmake\")
  asyncgrad_public_headers(\"${PROJECT_SOURCE_DIR}\" headers ${installed_roots})
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH folder)
    file(INSTALL \"${PROJECT_SOURCE_DIR}/\${header}\"
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/asyncgrad/\${folder}\")
  endforeach()")

set(ASYNCGRAD_DNNL "")
if(OneDNN_PRIVATE)
  set(ASYNCGRAD_DNNL ${CMAKE_INSTALL_LIBDIR}/asyncgrad/libdnnl.so.3)
  file(REAL_PATH ${OneDNN_LIBRARY} dnnl_file)
  install(FILES ${dnnl_file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/asyncgrad RENAME libdnnl.so.3)
  install(DIRECTORY ${OneDNN_PREFIX}/share/doc/onednn DESTINATION ${CMAKE_INSTALL_DOCDIR})
  if(NOT PROJECT_IS_TOP_LEVEL)  # a program of the project around this one finds it once both are installed, anywhere
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE from_bin)
    # As a library, which CMake leaves as it is: in an option it would quote the dollar twice. For ninja it stands twice.
    set(dollar "$")
    if(CMAKE_GENERATOR MATCHES Ninja)
      set(dollar "$$")
    endif()
    target_link_libraries(asyncgrad INTERFACE
      "$<BUILD_INTERFACE:-Wl,-rpath,'${dollar}ORIGIN/${from_bin}/asyncgrad:${CMAKE_INSTALL_FULL_LIBDIR}/asyncgrad/.'>")
  endif()
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN docs/site EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/site DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/asyncgradConfig.cmake.in
  ${PROJECT_BINARY_DIR}/asyncgradConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/asyncgradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/asyncgradConfig.cmake ${PROJECT_BINARY_DIR}/asyncgradConfigVersion.cmake
  DESTINATION ${package_dir})

set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
  OUTPUT_VARIABLE ASYNCGRAD_PC_PREFIX)
set(ASYNCGRAD_PC_DNNL -ldnnl)
if(ASYNCGRAD_DNNL)
  set(ASYNCGRAD_PC_DNNL "\${prefix}/${ASYNCGRAD_DNNL} -Wl,-rpath,\${libdir}/asyncgrad")
endif()
if(BUILD_SHARED_LIBS)
  string(APPEND ASYNCGRAD_PC_DNNL " -Wl,-rpath,\${libdir}")
endif()
set(ASYNCGRAD_PC_CUDA "")
if(ASYNCGRAD_CUDA)
  set(ASYNCGRAD_PC_CUDA " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/asyncgrad.pc.in ${PROJECT_BINARY_DIR}/asyncgrad.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/asyncgrad.pc DESTINATION ${pkgconfig_dir})

# `cmake --install`: the program, the library, the headers, and find_package(glint).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/glint)

install(TARGETS glint_base glint_gpu EXPORT glint-gpu-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS glint_offload glint_arrays glint glint_program EXPORT glint-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET glint_mpi)
  install(TARGETS glint_mpi EXPORT glint-mpi-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS glint_mpi_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(EXPORT glint-mpi-targets NAMESPACE glint:: DESTINATION ${config_folder})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT glint-gpu-targets NAMESPACE glint:: DESTINATION ${config_folder})
install(EXPORT glint-targets NAMESPACE glint:: DESTINATION ${config_folder})
get_target_property(GLINT_LIBRARY_TYPE glint TYPE)
configure_package_config_file(cmake/glint-config.cmake.in ${PROJECT_BINARY_DIR}/glint-config.cmake
  INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/glint-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/glint-config.cmake ${PROJECT_BINARY_DIR}/glint-config-version.cmake
  DESTINATION ${config_folder})

# Shell completion and manual pages, which the program writes from its help. Omitted if the program cannot run here.
if(NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
  set(share ${PROJECT_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${share}/man/man1/glint.1 COMMAND glint_program completion --install ${share}
    DEPENDS glint_program COMMENT "Writing completion scripts and manual pages" VERBATIM)
  add_custom_target(glint_manual ALL DEPENDS ${share}/man/man1/glint.1)
  install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()

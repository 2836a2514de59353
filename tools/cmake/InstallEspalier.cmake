# Installs the compiler's headers and the CMake package `Espalier`: its static
# libraries, for programs that add dialects, passes or drivers of their own. The
# package of the runtime, EspalierRuntime, is runtime/CMakeLists.txt's.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Espalier)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/espalier
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/espalier
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE)

install(EXPORT EspalierTargets NAMESPACE Espalier:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/tools/cmake/EspalierConfig.cmake.in EspalierConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(EspalierConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/EspalierConfig.cmake
              ${PROJECT_BINARY_DIR}/EspalierConfigVersion.cmake
        DESTINATION ${package_dir})

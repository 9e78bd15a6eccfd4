# `cmake --install`: the program, the headers that a policy sees, and the package that builds policies against them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(refrain_policy INTERFACE)
set_target_properties(refrain_policy PROPERTIES EXPORT_NAME policy)
target_compile_features(refrain_policy INTERFACE cxx_std_20)
target_include_directories(refrain_policy INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/refrain>)
# Each file begins with the marker that the program looks for. Results must not depend on the compiler's choice.
target_compile_options(refrain_policy INTERFACE
  "SHELL:-include policies/plugin_marker.hpp" -ffp-contract=off -fno-math-errno $<$<CONFIG:>:-O2>)
target_link_libraries(refrain_policy INTERFACE absl::flat_hash_map)
# A program built for finding faults takes plug-ins that are.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(refrain_policy INTERFACE REFRAIN_DEBUG_CHECKS=1)
endif()
if(REFRAIN_SANITIZE)
  target_compile_options(refrain_policy INTERFACE -fsanitize=${REFRAIN_SANITIZE})
  target_link_options(refrain_policy INTERFACE -fsanitize=${REFRAIN_SANITIZE})
endif()

install(TARGETS refrain refrain_policy EXPORT RefrainTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
file(GLOB headers CONFIGURE_DEPENDS policies/*.hpp)
install(FILES ${headers} ${CMAKE_BINARY_DIR}/policies/generated/policies/plugin_headers.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain/policies)
file(GLOB headers CONFIGURE_DEPENDS traces/*.hpp)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain/traces)
install(FILES traces/corpus/token_book.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain/traces/corpus)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/refrain)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Refrain)
install(EXPORT RefrainTargets NAMESPACE Refrain:: DESTINATION ${package})
configure_package_config_file(cmake/RefrainConfig.cmake.in ${CMAKE_BINARY_DIR}/RefrainConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/RefrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/RefrainConfig.cmake ${CMAKE_BINARY_DIR}/RefrainConfigVersion.cmake
        cmake/refrain_add_policy.cmake DESTINATION ${package})

# Install rules, the CMake package (find_package(kiln)) and the pkg-config file.
include(CMakePackageConfigHelpers)

set(kiln_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")
set(kiln_installed_targets kiln_static)
if(KN_SHARED)
    list(APPEND kiln_installed_targets kiln)
endif()

install(TARGETS ${kiln_installed_targets} EXPORT kiln-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h")
if(TARGET kiln_tool)
    install(TARGETS kiln_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION "${kiln_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/kiln-config.cmake.in"
    "${PROJECT_BINARY_DIR}/kiln-config.cmake" INSTALL_DESTINATION "${kiln_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kiln-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/kiln-config.cmake" "${PROJECT_BINARY_DIR}/kiln-config-version.cmake"
    DESTINATION "${kiln_package_dir}")

# The file finds its prefix from its own place, so an installed tree can be moved.
file(RELATIVE_PATH kiln_pc_to_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/kiln.pc.in" "${PROJECT_BINARY_DIR}/kiln.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/kiln.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE-MIT" "${PROJECT_SOURCE_DIR}/LICENSE-APACHE"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/kiln" OPTIONAL)

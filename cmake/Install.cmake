# SPDX-License-Identifier: Apache-2.0
# make install: program, libraries, headers, pkg-config and CMake package files, data, documents.
# Nothing installed holds an absolute path except the library's default data folder.

include(CMakePackageConfigHelpers)

# ---------------------------------------------------------------------------------------------
# The bundle, a component of its own (make install BUNDLE=1): the libraries that the program needs
# beyond the C library, in a folder where it and the shared library look first, and the unit tests if
# they were built. With it the tree runs on machines that have none of them.
#
# Libraries of a library are looked for along an RPATH of the program, but not along a RUNPATH.

set(mm_bundle_dir "${CMAKE_INSTALL_LIBDIR}/mirrormap")

function(mm_look_in_bundle target folder)
  file(RELATIVE_PATH path "/prefix/${folder}" "/prefix/${mm_bundle_dir}")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${path}"
                        BUILD_WITH_INSTALL_RPATH TRUE)
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
endfunction()

mm_look_in_bundle(mirrormap "${CMAKE_INSTALL_LIBDIR}")
if(TARGET mirrormap_program)
  mm_look_in_bundle(mirrormap_program "${CMAKE_INSTALL_BINDIR}")
  install(CODE "set(MM_BUNDLE_OF \"$<TARGET_FILE:mirrormap_program>\" \"${PROJECT_BINARY_DIR}/mirrormap_tests\")
set(MM_BUNDLE_DIR \"${mm_bundle_dir}\")" COMPONENT bundle EXCLUDE_FROM_ALL)
  install(SCRIPT cmake/Bundle.cmake COMPONENT bundle EXCLUDE_FROM_ALL)
endif()

# ---------------------------------------------------------------------------------------------

install(TARGETS mirrormap mirrormap_static EXPORT mirrormapTargets)
if(TARGET mirrormap_program)
  install(TARGETS mirrormap_program)
endif()
if(TARGET mirrormap_mpi)
  install(TARGETS mirrormap_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/mirrormap")
endif()
install(DIRECTORY include/mirrormap DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")

set(mm_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mirrormap")
install(EXPORT mirrormapTargets NAMESPACE mirrormap:: DESTINATION "${mm_package_dir}")
configure_package_config_file(cmake/mirrormapConfig.cmake.in
                              "${PROJECT_BINARY_DIR}/mirrormapConfig.cmake"
                              INSTALL_DESTINATION "${mm_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mirrormapConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/mirrormapConfig.cmake"
              "${PROJECT_BINARY_DIR}/mirrormapConfigVersion.cmake"
        DESTINATION "${mm_package_dir}")

# the prefix is computed from the place of the .pc file, so a moved installation still works
set(mm_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH MM_PC_PREFIX "/prefix/${mm_pc_dir}" "/prefix")
configure_file(cmake/mirrormap.pc.in "${PROJECT_BINARY_DIR}/mirrormap.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/mirrormap.pc" DESTINATION "${mm_pc_dir}")

install(DIRECTORY presets maps models DESTINATION "${CMAKE_INSTALL_DATADIR}/mirrormap" OPTIONAL
        PATTERN README.md EXCLUDE) # with the documents

# README, documents and examples, with links that lead somewhere
set(mm_docs "${PROJECT_BINARY_DIR}/documents")
file(RELATIVE_PATH mm_headers "${CMAKE_INSTALL_FULL_DOCDIR}"
     "${CMAKE_INSTALL_FULL_INCLUDEDIR}/mirrormap")
install(CODE "execute_process(COMMAND bash \"${PROJECT_SOURCE_DIR}/scripts/install-docs\"
                \"${mm_docs}\" \"${mm_headers}\" COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY "${mm_docs}/" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

if(TARGET mirrormap_manual)
  install(DIRECTORY "${MM_GENERATED}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()
# where the shells look, below every prefix that is theirs too
install(FILES packaging/completions/mirrormap.bash RENAME mirrormap
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES packaging/completions/_mirrormap
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES packaging/completions/mirrormap.fish
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

# ---------------------------------------------------------------------------------------------
# The Python package (pyproject.toml), a component of its own: a tree of library, program and data
# in its folder. A wheel has no links, so the library has one name (CMakeLists.txt).

if(DEFINED SKBUILD)
  install(TARGETS mirrormap LIBRARY DESTINATION lib COMPONENT python)
  install(TARGETS mirrormap_program RUNTIME DESTINATION bin COMPONENT python)
  install(DIRECTORY presets maps models DESTINATION share/mirrormap COMPONENT python)
endif()

# SPDX-License-Identifier: Apache-2.0
# Run at installation: copies the shared libraries that the programs in MM_BUNDLE_OF need (those that
# are there) to MM_BUNDLE_DIR below the prefix. What belongs to the system stays out: the C library
# with its parts, and the driver's own.

set(programs "")
foreach(program IN LISTS MM_BUNDLE_OF)
  if(EXISTS "${program}")
    list(APPEND programs "${program}")
  endif()
endforeach()
file(GET_RUNTIME_DEPENDENCIES
     EXECUTABLES ${programs}
     RESOLVED_DEPENDENCIES_VAR found
     UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^(ld-linux|linux-vdso|libc|libm|libmvec|libpthread|libdl|librt|libresolv)[-.]"
                         "^lib(cuda|nvidia)")
if(missing)
  message(FATAL_ERROR "not found, so they cannot be part of the bundle: ${missing}")
endif()
foreach(library IN LISTS found)
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${MM_BUNDLE_DIR}" TYPE SHARED_LIBRARY
       FOLLOW_SYMLINK_CHAIN FILES "${library}")
endforeach()

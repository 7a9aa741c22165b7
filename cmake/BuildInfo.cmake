# SPDX-License-Identifier: Apache-2.0
# Writes mm_build.h (run by every build with cmake -P). The file is touched only when its content
# changes, so an unchanged tree compiles nothing.

# a tarball that git made knows its commit and that commit's date by the file COMMIT
file(STRINGS "${MM_SOURCE}/cmake/COMMIT" commit REGEX "^[0-9a-f]+ [0-9-]+$")
string(REGEX REPLACE "^.* " "" MM_BUILD_DATE "${commit}")
string(REGEX REPLACE " .*" "" commit "${commit}")
if(EXISTS "${MM_SOURCE}/.git")
  execute_process(
    COMMAND git --no-optional-locks -C "${MM_SOURCE}" describe --always --dirty --tags
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  endif()
  execute_process(COMMAND git -C "${MM_SOURCE}" log -1 --format=%cs OUTPUT_VARIABLE MM_BUILD_DATE
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(MM_BUILD_INFO "${MM_FACTS}")
if(commit)
  string(APPEND MM_BUILD_INFO ", commit ${commit}")
endif()
configure_file("${MM_SOURCE}/cmake/mm_build.h.in" "${MM_OUTPUT}" @ONLY)

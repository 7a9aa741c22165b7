# Writes mm_build.h (run by every build with cmake -P). The file is touched only when its content
# changes, so an unchanged tree compiles nothing.

set(commit "")
if(EXISTS "${MM_SOURCE}/.git")
  execute_process(
    COMMAND git --no-optional-locks -C "${MM_SOURCE}" describe --always --dirty --tags
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  endif()
endif()
set(MM_BUILD_INFO "${MM_FACTS}")
if(commit)
  string(APPEND MM_BUILD_INFO ", commit ${commit}")
endif()
configure_file("${MM_SOURCE}/cmake/mm_build.h.in" "${MM_OUTPUT}" @ONLY)

# SPDX-License-Identifier: Apache-2.0
# Options, the default build type and the compiler flags of every source.

set(MIRRORMAP_CUDA AUTO CACHE STRING "Use CUDA: AUTO (with nvcc and a device here), ON or OFF")
set_property(CACHE MIRRORMAP_CUDA PROPERTY STRINGS AUTO ON OFF)
set(MIRRORMAP_WATCH AUTO CACHE STRING "Build report --watch: AUTO (when libmicrohttpd is found), ON or OFF")
set_property(CACHE MIRRORMAP_WATCH PROPERTY STRINGS AUTO ON OFF)
set(MIRRORMAP_MUJOCO AUTO CACHE STRING "Use the MuJoCo library: AUTO (when libmujoco is found), ON or OFF")
set_property(CACHE MIRRORMAP_MUJOCO PROPERTY STRINGS AUTO ON OFF)
set(MIRRORMAP_MPI AUTO CACHE STRING "Ranks over MPI: AUTO (when it is found), ON or OFF")
set_property(CACHE MIRRORMAP_MPI PROPERTY STRINGS AUTO ON OFF)
set(MIRRORMAP_TESTS AUTO CACHE STRING "Build unit tests: AUTO (when cmocka is found), ON or OFF")
set_property(CACHE MIRRORMAP_TESTS PROPERTY STRINGS AUTO ON OFF)
option(MIRRORMAP_WERROR "Turn warnings into errors" OFF)
option(MIRRORMAP_SANITIZE "Build with the address and undefined-behaviour sanitizers" OFF)
option(MIRRORMAP_FUZZ "Build tests/fuzz as libFuzzer programs (needs clang)" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug" FORCE)
endif()

set(MM_X86 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(MM_X86 TRUE)
endif()
set(mm_march "")
if(MM_X86)
  set(mm_march x86-64-v3)
endif()
set(MIRRORMAP_MARCH "${mm_march}" CACHE STRING "Value of -march for everything but the program's first file")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set_property(GLOBAL PROPERTY TARGET_MESSAGES OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

# asserts stay on in every build: tests rely on them, and none stands in a hot loop
# lines for profiles and backtraces; where variables live costs half as much again to find out
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1")
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")

# -ffp-contract=off: a fused multiply-add happens where the source says fma() and nowhere else, so
# results are the same bits at every optimisation level. The other two change no value: nobody
# reads errno after a math function or the floating-point exception flags.
set(mm_flags -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(MIRRORMAP_MARCH)
  list(APPEND mm_flags "-march=${MIRRORMAP_MARCH}")
endif()
list(APPEND mm_flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes)
if(CMAKE_C_COMPILER_ID MATCHES "Clang") # integer constants are enum members, C's way
  list(APPEND mm_flags -Wno-enum-float-conversion)
endif()
if(MIRRORMAP_WERROR)
  list(APPEND mm_flags -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C>:${mm_flags}>")

if(MIRRORMAP_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MIRRORMAP_FUZZ=ON needs clang (CC=clang), found ${CMAKE_C_COMPILER_ID}")
  endif()
  set(MIRRORMAP_SANITIZE ON)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
if(MIRRORMAP_SANITIZE)
  set(mm_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # accesses that these two of gcc's would find end at the address sanitizer anyway; a tenth of the
  # time is theirs. The presets with clang (make check-long) leave nothing out.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND mm_sanitize -fno-sanitize=null,object-size)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:${mm_sanitize}>")
  add_link_options(${mm_sanitize})
endif()

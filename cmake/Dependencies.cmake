# SPDX-License-Identifier: Apache-2.0
# What the build stands on. Each missing piece is named together with the Debian package.

function(mm_missing what package)
  message(FATAL_ERROR "${what} not found: install ${package}, or run scripts/setup")
endfunction()

find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
  mm_missing("pkg-config" pkgconf)
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

pkg_check_modules(CJSON QUIET IMPORTED_TARGET libcjson)
if(NOT CJSON_FOUND)
  mm_missing("cJSON" libcjson-dev)
endif()

pkg_check_modules(CYAML QUIET IMPORTED_TARGET libcyaml)
if(NOT CYAML_FOUND)
  mm_missing("libcyaml" "libcyaml-dev and libyaml-dev")
endif()

# STRICT tables need 3.37
pkg_check_modules(SQLITE QUIET IMPORTED_TARGET sqlite3>=3.37)
if(NOT SQLITE_FOUND)
  mm_missing("SQLite 3.37 or newer" libsqlite3-dev)
endif()

find_path(RANDOM123_INCLUDE_DIR Random123/philox.h DOC "Folder that holds Random123/philox.h")
mark_as_advanced(RANDOM123_INCLUDE_DIR)
if(NOT RANDOM123_INCLUDE_DIR)
  mm_missing("Random123 (Random123/philox.h)" librandom123-dev)
endif()

# libmicrohttpd: report --watch only
set(MM_WATCH FALSE)
if(NOT MIRRORMAP_WATCH STREQUAL "OFF")
  pkg_check_modules(MICROHTTPD QUIET IMPORTED_TARGET libmicrohttpd>=0.9.71)
  if(MICROHTTPD_FOUND)
    set(MM_WATCH TRUE)
  elseif(NOT MIRRORMAP_WATCH STREQUAL "AUTO")
    mm_missing("libmicrohttpd (MIRRORMAP_WATCH=${MIRRORMAP_WATCH})" libmicrohttpd-dev)
  endif()
endif()

# MuJoCo: the engine of physics=mujoco, and what our own is held against. Its package files also ask
# for OpenGL, which only its viewers need.
set(MM_MUJOCO FALSE)
if(NOT MIRRORMAP_MUJOCO STREQUAL "OFF")
  find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h DOC "Folder that holds mujoco/mujoco.h")
  find_library(MUJOCO_LIBRARY mujoco DOC "The MuJoCo library")
  mark_as_advanced(MUJOCO_INCLUDE_DIR MUJOCO_LIBRARY)
  set(mm_mujoco_found 0)
  if(MUJOCO_INCLUDE_DIR AND MUJOCO_LIBRARY)
    file(STRINGS "${MUJOCO_INCLUDE_DIR}/mujoco/mujoco.h" mm_line REGEX "define mjVERSION_HEADER")
    string(REGEX MATCH "[0-9]+" mm_mujoco_found "${mm_line}")
  endif()
  if(mm_mujoco_found GREATER_EQUAL 220)
    set(MM_MUJOCO TRUE)
    string(REGEX REPLACE "([0-9]+)([0-9])([0-9])$" "\\1.\\2.\\3" MM_MUJOCO_VERSION "${mm_mujoco_found}")
  elseif(NOT MIRRORMAP_MUJOCO STREQUAL "AUTO")
    mm_missing("MuJoCo 2.2 or newer (MIRRORMAP_MUJOCO=${MIRRORMAP_MUJOCO})" libmujoco-dev)
  endif()
endif()

# MPI: ranks. What it is compiled and linked with is for one small library alone.
set(MM_MPI FALSE)
if(NOT MIRRORMAP_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(MM_MPI TRUE)
  elseif(NOT MIRRORMAP_MPI STREQUAL "AUTO")
    mm_missing("MPI (MIRRORMAP_MPI=${MIRRORMAP_MPI})" libopenmpi-dev)
  endif()
endif()

# cmocka: tests only
set(MM_TESTS FALSE)
if(NOT MIRRORMAP_TESTS STREQUAL "OFF")
  pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
  if(CMOCKA_FOUND)
    set(MM_TESTS TRUE)
  elseif(NOT MIRRORMAP_TESTS STREQUAL "AUTO")
    mm_missing("cmocka (MIRRORMAP_TESTS=${MIRRORMAP_TESTS})" libcmocka-dev)
  endif()
endif()

# CUDA: a compiler is enough to build; devices are looked for at run time. The kernels take most of
# the time of a build, so AUTO compiles them only where a device can run them, and for its kind alone
set(MM_CUDA FALSE)
set(mm_device_kinds 80 89 90)
set(MM_CUDA_WANTED "${MIRRORMAP_CUDA}")
if(MIRRORMAP_CUDA STREQUAL "AUTO" AND NOT EXISTS /dev/nvidiactl)
  set(MM_CUDA_WANTED OFF)
elseif(MIRRORMAP_CUDA STREQUAL "AUTO")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE mm_found ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" mm_found "${mm_found}")
  list(REMOVE_DUPLICATES mm_found)
  string(REPLACE "." "" mm_found "${mm_found}")
  # a device between these kinds runs the code of the one below it, a newer one translates 90's
  set(mm_others ${mm_found})
  list(REMOVE_ITEM mm_others ${mm_device_kinds})
  if(mm_found AND NOT mm_others)
    set(mm_device_kinds ${mm_found})
  endif()
endif()
if(MM_CUDA_WANTED)
  find_program(MIRRORMAP_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               PATH_SUFFIXES bin DOC "The CUDA compiler")
  mark_as_advanced(MIRRORMAP_NVCC)
  if(MIRRORMAP_NVCC)
    set(MM_CUDA TRUE)
    set(CMAKE_CUDA_COMPILER "${MIRRORMAP_NVCC}")
  elseif(NOT MIRRORMAP_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "MIRRORMAP_CUDA=${MIRRORMAP_CUDA}, but no nvcc was found: install the CUDA "
                        "toolkit (12 or newer), put nvcc on the PATH, or use MIRRORMAP_CUDA=AUTO")
  endif()
endif()

# include paths and definitions of one target made of our sources
function(mm_configure_objects target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include"
                             "${PROJECT_SOURCE_DIR}/src" "${MM_GENERATED}")
  target_include_directories(${target} SYSTEM PRIVATE "${RANDOM123_INCLUDE_DIR}"
                             ${CJSON_INCLUDE_DIRS} ${CYAML_INCLUDE_DIRS}
                             ${SQLITE_INCLUDE_DIRS})
  if(MM_MUJOCO)
    target_include_directories(${target} SYSTEM PRIVATE "${MUJOCO_INCLUDE_DIR}")
    target_compile_definitions(${target} PRIVATE HAVE_MUJOCO=1)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
                        LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  add_dependencies(${target} mirrormap_build_info)
endfunction()

# SPDX-License-Identifier: Apache-2.0
# What follows from the lists of the source: CUDA kernels and includes.

# One source of CUDA kernels for each environment of a list: compiling one takes long, so that they
# are compiled side by side.
#
#   mm_add_kernels(LIST MARK TEMPLATE OUT)
#
# For every line "MARK(name, NAME, ..)" of the header LIST the file TEMPLATE (x/y.cu.in), with @name@
# and @NAME@ filled in, becomes x_name.cu in the build tree and is appended to the list OUT.

function(mm_add_kernels list mark template out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${list}")
  file(READ "${list}" text)
  string(REGEX MATCHALL "\n *${mark}\\([a-z0-9_]+, [A-Z0-9_]+" lines "${text}")
  cmake_path(GET template PARENT_PATH base)
  cmake_path(GET base FILENAME base)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\\(([a-z0-9_]+), ([A-Z0-9_]+)" matched "${line}")
    set(name "${CMAKE_MATCH_1}")
    set(NAME "${CMAKE_MATCH_2}")
    configure_file("${template}" "${MM_GENERATED}/${base}_${name}.cu" @ONLY)
    list(APPEND ${out} "${MM_GENERATED}/${base}_${name}.cu")
  endforeach()
  set(${out} "${${out}}" PARENT_SCOPE)
endfunction()

# mm_add_includes(LIST FOLDER ENDING OUT)
#
# The file OUT of the build tree includes FOLDER/name.ENDING for every line "X(NAME, name, .." of the
# header LIST, in its order.

function(mm_add_includes list folder ending out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${list}")
  file(READ "${list}" text)
  string(REGEX MATCHALL "\n *X\\([A-Z0-9_]+, [a-z0-9_]+" lines "${text}")
  set(includes "// The members of the list in ${list}.\n\n")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*, " "" name "${line}")
    string(APPEND includes "#include \"${folder}/${name}.${ending}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT "${MM_GENERATED}/${out}" CONTENT "${includes}" @ONLY)
endfunction()

# SPDX-License-Identifier: Apache-2.0
# One source, several instruction sets. Each variant is compiled with -DMM_ISA=<name>, from which
# the source forms its function names; the library picks one at run time. The variants give the
# same bits: only the speed differs.

set(MM_ISA_LIST portable)
set(mm_isa_flags_portable)
if(MM_X86)
  include(CheckCCompilerFlag)
  check_c_compiler_flag(-march=x86-64-v4 MM_COMPILER_KNOWS_X86_64_V4)
  if(MM_COMPILER_KNOWS_X86_64_V4)
    list(APPEND MM_ISA_LIST avx2 avx512)
    set(mm_isa_flags_portable -march=x86-64)
    set(mm_isa_flags_avx2 -march=x86-64-v3)
    set(mm_isa_flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
    add_compile_definitions(HAVE_ISA_X86=1)
  endif()
endif()

# Compiles `source` once per instruction set; appends the objects to the list named `objects`.
function(mm_add_isa_variants source objects)
  cmake_path(GET source STEM name)
  foreach(isa IN LISTS MM_ISA_LIST)
    set(target mirrormap_${name}_${isa})
    add_library(${target} OBJECT ${source})
    mm_configure_objects(${target})
    target_compile_definitions(${target} PRIVATE MM_ISA=${isa})
    target_compile_options(${target} PRIVATE ${mm_isa_flags_${isa}})
    list(APPEND ${objects} $<TARGET_OBJECTS:${target}>)
  endforeach()
  set(${objects} ${${objects}} PARENT_SCOPE)
endfunction()

# SPDX-License-Identifier: Apache-2.0
# Turns the page of a report into C: the files of MM_PAGE by their endings, html, css and js, each
# kind joined in the order of the names, to byte arrays in MM_OUTPUT.

set(code "// Made from src/show/page by cmake/EmbedPage.cmake.\n\n")
string(APPEND code "#include \"show/report/report_page.h\"\n")
foreach(kind html css js)
  file(GLOB files "${MM_PAGE}/*.${kind}")
  list(SORT files)
  set(bytes "")
  foreach(file IN LISTS files)
    # what would end the element that it is put into
    file(STRINGS "${file}" bad REGEX "</[sS][cCtT][rRyY]")
    if(bad AND NOT kind STREQUAL "html")
      message(FATAL_ERROR "${file}: the text '</script' or '</style' cannot be in it")
    endif()
    file(READ "${file}" hex HEX)
    string(APPEND bytes "${hex}")
  endforeach()
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND code "\nconst unsigned char mm_report_${kind}[] = {\n${bytes}0\n};\n"
                     "const size_t mm_report_${kind}_size = sizeof mm_report_${kind} - 1;\n")
endforeach()
file(WRITE "${MM_OUTPUT}" "${code}")

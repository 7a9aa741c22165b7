// SPDX-License-Identifier: Apache-2.0
// The page of a report: one HTML file with everything in it.

#ifndef MM_EXPERIMENT_REPORT_PAGE_H
#define MM_EXPERIMENT_REPORT_PAGE_H

#include <stddef.h>

#include "base/json.h"
#include "base/status.h"

// The files of src/show/page, put into the program by cmake/EmbedPage.cmake; a zero follows.
extern const unsigned char mm_report_html[], mm_report_css[], mm_report_js[];
extern const size_t mm_report_html_size, mm_report_css_size, mm_report_js_size;

// The page around the document, as text to be released with mm_free. Nothing in the document can
// end the element that holds it.
mm_status mm_report_page(const cJSON *document, char **out, size_t *length);

// Writes it to `path`, in one piece. A file that is there already is replaced when it is a page of
// ours, and MM_ERR_INPUT otherwise.
mm_status mm_report_page_write(const cJSON *document, const char *path);

#endif

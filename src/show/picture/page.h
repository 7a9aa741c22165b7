// SPDX-License-Identifier: Apache-2.0
// A page of plain marks, in units of 1/96 inch, x to the right and y downwards: boxes, lines, discs
// and texts in the order in which they are drawn. And its writers.

#ifndef MM_SHOW_PAGE_H
#define MM_SHOW_PAGE_H

#include "base/status.h"
#include "show/picture/picture.h"
#include "show/plot/plot.h"

enum { MM_PAGE_TEXT = 160 };

typedef struct mm_page_text {
  double x, y; // its middle height
  mm_align align;
  bool bold;
  uint32_t colour;
  char text[MM_PAGE_TEXT];
} mm_page_text;

typedef struct mm_page_shape {
  mm_shape shape; // in the page's units; its mark does not count
  uint32_t colour;
} mm_page_shape;

// Texts are in front of shapes.
typedef struct mm_page {
  double width, height;
  mm_page_shape *shape; // [n_shape], room for most_shape
  mm_page_text *text;   // [n_text], room for most_text
  size_t n_shape, n_text, most_shape, most_text;
} mm_page;

mm_status mm_page_create(size_t most_shape, size_t most_text, mm_page *out);
void mm_page_release(mm_page *page);

// What does not fit into the room that was asked for is dropped.
void mm_page_add(mm_page *page, mm_shape shape, uint32_t colour);
void mm_page_fill(mm_page *page, double x, double y, double w, double h, uint32_t colour);
void mm_page_put(mm_page *page, double x, double y, mm_align align, bool bold, uint32_t colour,
                 const char *text);

// As SVG, or by gnuplot for the other formats.
mm_status mm_page_write(const mm_page *page, const char *path);

#endif

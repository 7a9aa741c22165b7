// SPDX-License-Identifier: Apache-2.0
// Pages as SVG, directly, and as PNG or PDF through gnuplot.

#define _XOPEN_SOURCE 700

#include "show/picture/page.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

mm_status mm_page_create(size_t most_shape, size_t most_text, mm_page *out) {
  *out = (mm_page){ .most_shape = most_shape, .most_text = most_text };
  out->shape = mm_alloc_array(most_shape + 1, sizeof *out->shape);
  out->text = mm_alloc_array(most_text + 1, sizeof *out->text);
  if (out->shape && out->text) return MM_OK;
  mm_page_release(out);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for a page of %zu marks", most_shape);
}

void mm_page_release(mm_page *page) {
  mm_free(page->shape);
  mm_free(page->text);
  *page = (mm_page){ 0 };
}

void mm_page_add(mm_page *page, mm_shape shape, uint32_t colour) {
  if (page->n_shape == page->most_shape) return;
  page->shape[page->n_shape++] = (mm_page_shape){ shape, colour };
}

void mm_page_fill(mm_page *page, double x, double y, double w, double h, uint32_t colour) {
  mm_page_add(page, (mm_shape){ MM_SHAPE_BOX, 0, x, y, x + w, y + h, 0 }, colour);
}

void mm_page_put(mm_page *page, double x, double y, mm_align align, bool bold, uint32_t colour,
                 const char *text) {
  if (page->n_text == page->most_text) return;
  mm_page_text *t = &page->text[page->n_text++];
  *t = (mm_page_text){ x, y, align, bold, colour, "" };
  snprintf(t->text, sizeof t->text, "%s", text);
}

// ---------------------------------------------------------------------------------------------
// SVG

// Any text as XML: what is no printable UTF-8 becomes a replacement mark.
static void put_escaped(FILE *out, const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    const unsigned char *at = (const unsigned char *)text;
    size_t length = mm_utf8_length(at, left), taken = length > 0 ? length : 1;
    if (*at == '&')
      fputs("&amp;", out);
    else if (*at == '<')
      fputs("&lt;", out);
    else if (*at == '>')
      fputs("&gt;", out);
    else if (length == 0 || *at < 0x20 || *at == 0x7f)
      fputs("\xEF\xBF\xBD", out);
    else
      fwrite(text, 1, length, out);
    text += taken;
    left -= taken;
  }
}

static void put_shape(FILE *out, const mm_page_shape *p) {
  const mm_shape *h = &p->shape;
  if (h->kind == MM_SHAPE_BOX)
    fprintf(out, "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"#%06x\"/>\n",
            h->x, h->y, h->x2 - h->x, h->y2 - h->y, (unsigned)p->colour);
  else if (h->kind == MM_SHAPE_DISC)
    fprintf(out, "<circle cx=\"%.6g\" cy=\"%.6g\" r=\"%.6g\" fill=\"#%06x\"/>\n", h->x, h->y,
            h->size, (unsigned)p->colour);
  else
    fprintf(out,
            "<line x1=\"%.6g\" y1=\"%.6g\" x2=\"%.6g\" y2=\"%.6g\" stroke=\"#%06x\" "
            "stroke-width=\"%.6g\"/>\n",
            h->x, h->y, h->x2, h->y2, (unsigned)p->colour, h->size);
}

static void put_text(FILE *out, const mm_page_text *t) {
  fprintf(out, "<text x=\"%.6g\" y=\"%.6g\" fill=\"#%06x\"%s%s>", t->x, t->y + 4,
          (unsigned)t->colour, t->align == MM_CENTRE ? " text-anchor=\"middle\"" : "",
          t->bold ? " font-weight=\"bold\"" : "");
  put_escaped(out, t->text);
  fprintf(out, "</text>\n");
}

static void put_svg(FILE *out, const mm_page *page) {
  fprintf(out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.6g\" height=\"%.6g\" "
          "viewBox=\"0 0 %.6g %.6g\" font-family=\"Arial, sans-serif\" font-size=\"12\" "
          "stroke=\"none\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n"
          "<g stroke-linecap=\"round\">\n",
          page->width, page->height, page->width, page->height, MM_PAPER_COLOUR);
  for (size_t i = 0; i < page->n_shape; i++)
    put_shape(out, &page->shape[i]);
  fprintf(out, "</g>\n");
  for (size_t i = 0; i < page->n_text; i++)
    put_text(out, &page->text[i]);
  fprintf(out, "</svg>\n");
}

static mm_status write_svg(const mm_page *page, const char *path) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  bool whole = out && c_locale;
  if (whole) {
    locale_t before = uselocale(c_locale); // numbers keep their decimal point
    put_svg(out, page);
    uselocale(before);
    whole = !ferror(out);
  }
  if (out && fclose(out) != 0) whole = false;
  if (c_locale) freelocale(c_locale);
  mm_status status = MM_OK;
  if (whole)
    status = mm_file_write_atomic(path, text, length);
  else
    status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  free(text);
  return status;
}

// ---------------------------------------------------------------------------------------------
// gnuplot: one series per kind of shape (and per width of lines), in front of each other in this
// order: boxes, lines, discs. Its y goes upwards.

// The shapes of a kind, of lines those of one width.
static void add_shapes(mm_plot *plot, const mm_page *page, mm_shape_kind kind, double width) {
  static const mm_style style[] = {
    [MM_SHAPE_BOX] = MM_BOXES, [MM_SHAPE_LINE] = MM_SEGMENTS, [MM_SHAPE_DISC] = MM_DISCS
  };
  mm_plot_series(plot, (mm_series){ .style = style[kind], .width = width, .solid = width > 0 });
  for (size_t i = 0; i < page->n_shape; i++) {
    const mm_shape *h = &page->shape[i].shape;
    const double colour = page->shape[i].colour, y = page->height - h->y, y2 = page->height - h->y2;
    if (h->kind != kind || (kind == MM_SHAPE_LINE && h->size != width)) continue;
    if (kind == MM_SHAPE_BOX)
      mm_plot_put(plot, h->x, y, h->x, h->x2, y, y2, colour);
    else if (kind == MM_SHAPE_LINE)
      mm_plot_put(plot, h->x, y, h->x2 - h->x, y2 - y, colour);
    else
      mm_plot_put(plot, h->x, y, h->size, colour);
  }
}

// The next larger width of lines than `width`, or 0.
static double next_width(const mm_page *page, double width) {
  double next = 0;
  for (size_t i = 0; i < page->n_shape; i++) {
    const mm_shape *h = &page->shape[i].shape;
    if (h->kind == MM_SHAPE_LINE && h->size > width && (next == 0 || h->size < next))
      next = h->size;
  }
  return next;
}

static mm_status write_gnuplot(const mm_page *page, const char *path) {
  mm_plot plot = { .width = page->width, .height = page->height };
  for (size_t i = 0; i < page->n_text; i++) {
    const mm_page_text *t = &page->text[i];
    mm_plot_label(&plot, t->x, t->y, t->align, t->colour, t->bold, t->text);
  }
  mm_plot_panel(&plot, (mm_panel){ .box = { 0, 0, page->width, page->height },
                                   .x.range = { 0, page->width },
                                   .y.range = { 0, page->height } });
  add_shapes(&plot, page, MM_SHAPE_BOX, 0);
  for (double width = 0; (width = next_width(page, width)) > 0;)
    add_shapes(&plot, page, MM_SHAPE_LINE, width);
  add_shapes(&plot, page, MM_SHAPE_DISC, 0);
  return mm_plot_write(&plot, MM_OK, path);
}

mm_status mm_page_write(const mm_page *page, const char *path) {
  size_t length = strlen(path);
  bool svg = length > 4 && strcmp(path + length - 4, ".svg") == 0;
  return svg ? write_svg(page, path) : write_gnuplot(page, path);
}

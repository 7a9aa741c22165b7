// SPDX-License-Identifier: Apache-2.0
// Small pictures in text.

#ifndef MM_CLI_DRAWING_H
#define MM_CLI_DRAWING_H

#include <stddef.h>

enum {
  DRAWING_WIDTH = 56, // characters
  DRAWING_HEIGHT = 9,
  DRAWING_SAMPLES = 2 * DRAWING_WIDTH
};

// Draws a curve through y[DRAWING_SAMPLES], each in [0, 1], on stdout with an axis from x_low to
// x_high; braille dots where the locale has them, plain ASCII elsewhere.
void drawing_curve(const double *y, double x_low, double x_high);

#endif

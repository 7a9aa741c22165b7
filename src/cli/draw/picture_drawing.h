// SPDX-License-Identifier: Apache-2.0
// Pictures of environments (show/picture/picture.h) as text. Boards are blocks of colour, two
// columns a cell, or letters where there are no colours; shapes are braille dots where the locale
// has them, plain ASCII elsewhere.

#ifndef MM_CLI_PICTURE_DRAWING_H
#define MM_CLI_PICTURE_DRAWING_H

#include "cli/draw/panel.h"
#include "show/picture/picture.h"

// The picture of an observation, as large as looks well within so many columns and lines.
void picture_draw(const mm_scene *scene, const float *obs, int columns, int lines, text_panel *out);

// One line per mark: its colour or letter, and its name.
void picture_legend(const mm_scene *scene, text_panel *out);

#endif

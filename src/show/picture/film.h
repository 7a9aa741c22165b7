// SPDX-License-Identifier: Apache-2.0
// Frames of an episode as a film, by ffmpeg: GIF or MP4.
//
//   MM_TRY(mm_film_open(&scene, 30, "run.gif", &film));
//   while (..) mm_film_add(film, &frame);
//   mm_status status = mm_film_close(film, MM_OK);

#ifndef MM_SHOW_FILM_H
#define MM_SHOW_FILM_H

#include "show/picture/frame_sheet.h"

typedef struct mm_film mm_film;

// Does the ending of `path` ask for a film?
bool mm_film_is(const char *path);

// Starts ffmpeg. MM_ERR_UNSUPPORTED where it is missing.
mm_status mm_film_open(const mm_scene *scene, double frames_per_second, const char *path,
                       mm_film **out);

// What goes wrong meanwhile, mm_film_close reports.
void mm_film_add(mm_film *film, const mm_frame *frame);

// Puts the film in its place, or leaves what was there, as after a failed `so_far`, which it
// returns; releases it in any case.
mm_status mm_film_close(mm_film *film, mm_status so_far);

#endif

// SPDX-License-Identifier: Apache-2.0
// ffmpeg reads raw frames from a pipe and writes to a nameless file. The same frames make the same
// film.

#define _POSIX_C_SOURCE 200809L

#include "show/picture/film.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "show/picture/render.h"
#include "show/plot/program.h"

enum { SECONDS_MOST = 300 }; // for ffmpeg, after the last frame

struct mm_film {
  mm_scene scene;
  const char *path; // the caller's
  mm_raster raster;
  int frames, file, messages; // descriptors, or -1
  pid_t child;                // or 0
  bool whole;                 // ffmpeg has taken all frames so far
};

static bool ends_in(const char *path, const char *ending) {
  const size_t length = strlen(path), tail = strlen(ending);
  return length > tail && strcmp(path + length - tail, ending) == 0;
}

bool mm_film_is(const char *path) {
  return ends_in(path, ".gif") || ends_in(path, ".mp4");
}

static const char gif_palette[] = // one for each frame, so that none has to wait for the last
    "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none";

// Starts the program; returns 0 or an errno. It opens its output by name, since MP4 is not written
// from front to back.
static int start(mm_film *film, const char *program, double rate) {
  char size[40], fps[40];
  snprintf(size, sizeof size, "%dx%d", film->raster.width, film->raster.height);
  snprintf(fps, sizeof fps, "%ld/1000000", (long)(1e6 * rate + 0.5));
  const char *const gif[] = { "ffmpeg",      "-nostdin", "-loglevel",        "error",
                              "-f",          "rawvideo", "-pixel_format",    "rgb24",
                              "-video_size", size,       "-framerate",       fps,
                              "-i",          "pipe:0",   "-filter_complex",  gif_palette,
                              "-loop",       "0",        "-bitexact",        "-y",
                              "-f",          "gif",      "file:/dev/stdout", NULL };
  const char *const mp4[] = { "ffmpeg",      "-nostdin", "-loglevel",        "error",
                              "-f",          "rawvideo", "-pixel_format",    "rgb24",
                              "-video_size", size,       "-framerate",       fps,
                              "-i",          "pipe:0",   "-pix_fmt",         "yuv420p",
                              "-crf",        "18",       "-bitexact",        "-y",
                              "-f",          "mp4",      "file:/dev/stdout", NULL };
  int ends[2];
  if (pipe(ends) != 0) return errno;
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  film->frames = ends[1];
  const int error = mm_program_start(program, ends_in(film->path, ".gif") ? gif : mp4, ends[0],
                                     film->file, film->messages, &film->child);
  close(ends[0]);
  return error;
}

static void release(mm_film *film) {
  if (film->frames >= 0) close(film->frames);
  if (film->file >= 0) close(film->file);
  if (film->messages >= 0) close(film->messages);
  mm_free(film->raster.rgb);
  mm_free(film);
}

mm_status mm_film_open(const mm_scene *scene, double frames_per_second, const char *path,
                       mm_film **out) {
  char program[1024];
  if (!mm_program_find("ffmpeg", program, sizeof program))
    return MM_FAIL(MM_ERR_UNSUPPORTED,
                   "'%s': films need the program ffmpeg, which is not on the "
                   "PATH (Debian's package is ffmpeg)",
                   path);
  mm_film *film = mm_alloc(sizeof *film);
  if (!film) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  *film = (mm_film){ .scene = *scene, .path = path, .frames = -1, .whole = true };
  mm_raster *raster = &film->raster;
  mm_scene_size(scene, &raster->width, &raster->height);
  raster->width += raster->width % 2, raster->height += raster->height % 2; // as MP4 wants it
  raster->rgb = mm_alloc(3 * (size_t)raster->width * (size_t)raster->height);
  film->file = mm_temporary_open();
  film->messages = mm_temporary_open();
  mm_status status = MM_OK;
  int error = 0;
  if (!raster->rgb)
    status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  else if (film->file < 0 || film->messages < 0)
    status = mm_temporary_failed();
  else if ((error = start(film, program, frames_per_second)) != 0)
    status = MM_FAIL(MM_ERR_IO, "cannot start %s (error %d)", program, error);
  *out = film;
  if (status == MM_OK) return MM_OK;
  release(film);
  *out = NULL;
  return status;
}

void mm_film_add(mm_film *film, const mm_frame *frame) {
  const mm_raster *raster = &film->raster;
  if (frame->cell)
    mm_scene_draw_cells(&film->scene, frame->cell, raster);
  else
    mm_scene_draw_shapes(&film->scene, frame->shape, frame->n_shape, raster);
  const size_t size = 3 * (size_t)raster->width * (size_t)raster->height;
  for (size_t done = 0; film->whole && done < size;) {
    const ssize_t n = write(film->frames, raster->rgb + done, size - done);
    if (n > 0) done += (size_t)n;
    film->whole = n > 0 || (n < 0 && errno == EINTR); // or it has gone; SIGPIPE is ignored
  }
}

static mm_status judge(const mm_film *film, int exit_status) {
  char text[1024], *saved;
  if (WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0 && film->whole) return MM_OK;
  mm_temporary_read(film->messages, 0, text, sizeof text);
  const char *line = strtok_r(text, "\n", &saved);
  return MM_FAIL(MM_ERR_IO, "'%s': ffmpeg failed: %s", film->path, line ? line : "no message");
}

mm_status mm_film_close(mm_film *film, mm_status so_far) {
  int exit_status = 0;
  mm_status status;
  close(film->frames);
  film->frames = -1;
  if (!mm_program_wait(film->child, SECONDS_MOST, &exit_status))
    status = MM_FAIL(MM_ERR_IO, "'%s': ffmpeg was not done after %d s and was ended", film->path,
                     SECONDS_MOST);
  else
    status = so_far == MM_OK ? judge(film, exit_status) : so_far;
  if (status == MM_OK) status = mm_temporary_keep(film->file, film->path);
  release(film);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Folders, names and times of event files.

#define _POSIX_C_SOURCE 200809L

#include "show/events/event_export.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "show/events/event_internal.h"

#define PREFIX "events.out.tfevents."

// ---------------------------------------------------------------------------------------------
// Names

static void put_safe(const char *text, char *out, size_t size) {
  size_t n = strlen(out);
  for (; *text && n + 1 < size; text++) {
    char c = *text;
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                 c == '-' || c == '_' || c == '+' || c == '=';
    out[n++] = plain ? c : c == ':' || c == '/' ? '-' : '_';
  }
  out[n] = '\0';
}

static bool is_taken(const mm_event_folder *folder, const char *name) {
  for (size_t i = 0; i < folder->n_taken; i++)
    if (strcasecmp(folder->taken[i], name) == 0) return true;
  return false;
}

static mm_status note_name(mm_event_folder *folder, const char *name) {
  bool room = MM_GROW(folder->taken, folder->n_taken);
  char *copy = room ? mm_alloc(strlen(name) + 1) : NULL;
  if (!copy) return MM_FAIL(MM_ERR_MEMORY, "no memory for the names of curves");
  memcpy(copy, name, strlen(name) + 1);
  folder->taken[folder->n_taken++] = copy;
  return MM_OK;
}

mm_status mm_event_take_name(mm_event_folder *folder, const char *stem, const char *label,
                             char out[MM_EVENT_NAME_SIZE]) {
  char plain[MM_EVENT_NAME_SIZE - 24] = ""; // room for a number behind it
  put_safe(stem, plain, sizeof plain);
  put_safe(label, plain, sizeof plain);
  snprintf(out, MM_EVENT_NAME_SIZE, "%s", plain);
  for (size_t n = 2; is_taken(folder, out); n++)
    snprintf(out, MM_EVENT_NAME_SIZE, "%s-%zu", plain, n);
  return note_name(folder, out);
}

// ---------------------------------------------------------------------------------------------
// Files

mm_status mm_event_save(mm_event_folder *folder, const char *sub, const mm_event_file *file) {
  char path[MM_RUN_PATH_SIZE];
  if (file->scalars == 0) return MM_OK;
  int length = snprintf(path, sizeof path, "%s/%s/%s", folder->path, sub, folder->file);
  if (length < 0 || length >= MM_RUN_PATH_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%.200s: the path is too long", folder->path);
  char *slash = strrchr(path, '/');
  bool made;
  *slash = '\0';
  MM_TRY(mm_folder_make(path, &made));
  *slash = '/';
  MM_TRY(mm_file_write_atomic(path, (const char *)file->bytes, file->size));
  folder->count.files++;
  folder->count.scalars += file->scalars;
  return MM_OK;
}

enum { DEPTH = 2 }; // of the sub-folders

// Whether an event file with another name lies in the folder or below it; *path becomes its path.
static bool find_other(char path[MM_RUN_PATH_SIZE], const char *own, int depth) {
  DIR *folder = opendir(path);
  size_t length = strlen(path);
  bool found = false;
  for (struct dirent *e; folder && !found && (e = readdir(folder)) != NULL;) {
    bool event = strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) == 0;
    if (e->d_name[0] == '.' || length + strlen(e->d_name) + 2 > MM_RUN_PATH_SIZE) continue;
    snprintf(path + length, MM_RUN_PATH_SIZE - length, "/%s", e->d_name);
    found = event ? strcmp(e->d_name, own) != 0 : depth > 0 && find_other(path, own, depth - 1);
    if (!found) path[length] = '\0';
  }
  if (folder) closedir(folder);
  return found;
}

static mm_status check_folder(const mm_event_folder *folder) {
  char path[MM_RUN_PATH_SIZE];
  snprintf(path, sizeof path, "%s", folder->path);
  if (!find_other(path, folder->file, DEPTH)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "'%s' is of another run, and TensorBoard would mix them: choose another folder",
                 path);
}

// ---------------------------------------------------------------------------------------------
// Sessions

typedef struct session_reader {
  mm_event_folder *folder;
  double last; // sign of life of the run: the end of a session that has none
  bool no_memory;
} session_reader;

// The first session names the files, as TensorBoard's own writers do by time, host and process: the
// same name whenever the run is exported.
static void name_files(mm_event_folder *folder, double start, const char *host, int64_t pid) {
  char plain[64] = "";
  put_safe(host, plain, sizeof plain);
  folder->start = start;
  snprintf(folder->file, sizeof folder->file, PREFIX "%.0f.%s.%" PRId64, floor(start), plain, pid);
}

static int on_session(const mm_run_row *any, void *user) {
  const mm_run_session *row = &any->session;
  session_reader *r = user;
  mm_event_folder *f = r->folder;
  mm_event_session s = { mm_run_seconds(row->started), mm_run_seconds(row->ended) };
  if (isnan(s.start)) return 0;
  if (f->n_session == 0) name_files(f, s.start, row->host[0] ? row->host : "unknown", row->pid);
  if (isnan(s.end)) s.end = isnan(r->last) ? f->start : r->last;
  if (f->n_session > 0 && f->session[f->n_session - 1].end > s.start)
    f->session[f->n_session - 1].end = s.start;
  if (s.end < s.start) s.end = s.start;
  r->no_memory = !MM_GROW(f->session, f->n_session);
  if (r->no_memory) return 1;
  f->session[f->n_session++] = s;
  return 0;
}

static mm_status read_sessions(mm_run *run, mm_event_folder *folder) {
  mm_run_summary summary;
  mm_status status = mm_run_summarise(run, &summary);
  if (status != MM_OK && status != MM_ERR_INPUT) return status;
  session_reader r = { .folder = folder, .last = mm_run_seconds(summary.last) };
  name_files(folder, 0, "unknown", 0);
  MM_TRY(mm_event_each(run, MM_RUN_SESSION, on_session, &r));
  return r.no_memory ? MM_FAIL(MM_ERR_MEMORY, "no memory for the sessions of a run") : MM_OK;
}

double mm_event_moment(const mm_event_folder *folder, double share) {
  double left = 0, moment = folder->start;
  for (size_t i = 0; i < folder->n_session; i++)
    left += share * (folder->session[i].end - folder->session[i].start);
  for (size_t i = 0; i < folder->n_session && left >= 0; i++) {
    const mm_event_session *s = &folder->session[i];
    moment = fmin(s->start + left, s->end);
    left -= s->end - s->start;
  }
  return moment;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_event_export(mm_run *run, const char *path, mm_event_count *out) {
  mm_event_folder folder = { .path = path };
  mm_status status = read_sessions(run, &folder);
  if (status == MM_OK) status = check_folder(&folder);
  if (status == MM_OK) status = mm_event_export_search(run, &folder);
  if (status == MM_OK) status = mm_event_export_trainings(run, &folder);
  for (size_t i = 0; i < folder.n_taken; i++)
    mm_free(folder.taken[i]);
  mm_free(folder.taken);
  mm_free(folder.session);
  *out = folder.count;
  return status;
}

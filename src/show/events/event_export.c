// Folders, names and times of event files.

#define _POSIX_C_SOURCE 200809L

#include "show/events/event_export.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "show/events/event_internal.h"

#define PREFIX "events.out.tfevents."

// ---------------------------------------------------------------------------------------------
// Times

// Days since 1970 of a date; years count from March, so that the odd day comes last.
static int64_t days_of(int64_t year, int month, int day) {
  year -= month <= 2;
  int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
  return 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
}

// n digits of a text; -1 when they are none.
static int digits(const char *text, int n) {
  int number = 0;
  for (int i = 0; i < n; i++) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = 10 * number + (text[i] - '0');
  }
  return number;
}

bool mm_event_time(const char *text, double *out) {
  static const char form[] = "0000-00-00T00:00:00.000Z";
  if (strlen(text) != sizeof form - 1) return false;
  for (size_t i = 0; i < sizeof form - 1; i++)
    if (form[i] == '0' ? digits(text + i, 1) < 0 : text[i] != form[i]) return false;
  int year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2);
  int hour = digits(text + 11, 2), minute = digits(text + 14, 2), second = digits(text + 17, 2);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      second > 60)
    return false;
  int64_t whole = 86400 * days_of(year, month, day) + 3600 * hour + 60 * minute + second;
  *out = (double)whole + digits(text + 20, 3) / 1000.0;
  return true;
}

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
  char **taken = mm_grow(folder->taken, folder->n_taken, sizeof *taken);
  if (!taken) return MM_FAIL(MM_ERR_MEMORY, "no memory for the names of curves");
  folder->taken = taken;
  char *copy = mm_alloc(strlen(name) + 1);
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

static mm_status make_folder(const char *path) {
  struct stat about;
  if (mkdir(path, 0777) == 0) return MM_OK;
  int error = errno;
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return MM_OK;
  return MM_FAIL(MM_ERR_IO, "cannot make the folder '%s': %s", path, strerror(error));
}

mm_status mm_event_save(mm_event_folder *folder, const char *sub, const mm_event_file *file) {
  char path[MM_RUN_PATH_SIZE];
  if (file->scalars == 0) return MM_OK;
  int length = snprintf(path, sizeof path, "%s/%s/%s", folder->path, sub, folder->file);
  if (length < 0 || length >= MM_RUN_PATH_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%.200s: the path is too long", folder->path);
  for (char *c = path + strlen(folder->path) + 1; (c = strchr(c, '/')) != NULL; c++) {
    *c = '\0';
    MM_TRY(make_folder(path));
    *c = '/';
  }
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

// The first session names the files, as TensorBoard's own writers do by time, host and process: the
// same name whenever the run is exported.
typedef struct first_session {
  bool found;
  double start;
  char host[MM_RUN_WORD_SIZE];
  int64_t pid;
} first_session;

static int see_session(const mm_run_row *any, void *user) {
  const mm_run_session *row = &any->session;
  first_session *s = user;
  s->found = mm_event_time(row->started, &s->start);
  snprintf(s->host, sizeof s->host, "%s", row->host);
  s->pid = row->pid;
  return s->found;
}

static mm_status name_files(mm_run *run, mm_event_folder *folder) {
  first_session s = { .found = false };
  char host[64] = "";
  MM_TRY(mm_event_walk(run, MM_RUN_SESSION, INT64_MIN, INT64_MAX, see_session, &s));
  put_safe(s.found && s.host[0] ? s.host : "unknown", host, sizeof host);
  folder->start = s.found ? s.start : 0;
  snprintf(folder->file, sizeof folder->file, PREFIX "%.0f.%s.%" PRId64, floor(folder->start), host,
           s.found ? s.pid : 0);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Sessions

typedef struct session_reader {
  mm_event_folder *folder;
  double last; // sign of life of the run: the end of one that has none
  bool no_memory;
} session_reader;

static int take_session(const mm_run_row *any, void *user) {
  const mm_run_session *row = &any->session;
  session_reader *r = user;
  mm_event_folder *f = r->folder;
  mm_event_session s;
  if (!mm_event_time(row->started, &s.start)) return 0;
  if (!row->ended || !mm_event_time(row->ended, &s.end)) s.end = r->last;
  if (f->n_session > 0 && f->session[f->n_session - 1].end > s.start)
    f->session[f->n_session - 1].end = s.start;
  if (s.end < s.start) s.end = s.start;
  mm_event_session *array = mm_grow(f->session, f->n_session, sizeof *array);
  r->no_memory = !array;
  if (!array) return 1;
  f->session = array;
  f->session[f->n_session++] = s;
  return 0;
}

static mm_status read_sessions(mm_run *run, mm_event_folder *folder) {
  session_reader r = { .folder = folder };
  mm_run_summary summary;
  mm_status status = mm_run_summarise(run, &summary);
  if (status != MM_OK && status != MM_ERR_INPUT) return status;
  if (!mm_event_time(summary.last, &r.last)) r.last = folder->start;
  MM_TRY(mm_event_walk(run, MM_RUN_SESSION, INT64_MIN, INT64_MAX, take_session, &r));
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
  mm_status status = name_files(run, &folder);
  if (status == MM_OK) status = read_sessions(run, &folder);
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

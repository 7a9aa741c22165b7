// SPDX-License-Identifier: Apache-2.0
// Folders of runs: finding, making, opening and closing them.
//
// A new database is built under another name and gets its own by a link once it is complete and on
// the disk. All of that happens under the folder's lock, so whatever else lies there under that
// other name was left by a process that died.

#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/spelling.h"
#include "study/run/run_internal.h"

// ---------------------------------------------------------------------------------------------
// The object

static void destroy(mm_run *run) {
  mm_run_disconnect(run);
  mm_run_unlock(run->real, run->lock);
  mm_free(run->command);
  mm_free(run->config);
  mm_free(run->command_line);
  mm_free(run->state);
  mm_free(run);
}

static mm_status take_object(const char *file, mm_run_access access, mm_run **out) {
  mm_run *run = mm_alloc(sizeof *run);
  if (!run) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", file);
  memset(run, 0, sizeof *run);
  run->access = access;
  run->lock = -1;
  run->last = -1;
  *out = run;
  return MM_OK;
}

// `path` without slashes at its end, but for the root.
static bool copy_path(const char *path, char out[MM_RUN_PATH_SIZE]) {
  int length = snprintf(out, MM_RUN_PATH_SIZE, "%s", path);
  if (length < 0 || length >= MM_RUN_PATH_SIZE - 64) return false;
  while (length > 1 && out[length - 1] == '/')
    out[--length] = '\0';
  return true;
}

static bool append(char path[MM_RUN_PATH_SIZE], const char *name) {
  size_t used = strlen(path);
  const char *joint = used > 0 && path[used - 1] == '/' ? "" : "/";
  int length = snprintf(path + used, MM_RUN_PATH_SIZE - used, "%s%s", joint, name);
  return length >= 0 && (size_t)length < MM_RUN_PATH_SIZE - used;
}

static bool make_real(const char *path, char out[MM_RUN_PATH_SIZE]) {
  char *real = realpath(path, NULL);
  bool fits = real && strlen(real) < MM_RUN_PATH_SIZE - 64;
  if (fits) snprintf(out, MM_RUN_PATH_SIZE, "%s", real);
  if (real && !fits) errno = ENAMETOOLONG;
  free(real);
  return fits;
}

// The run in `folder` whose name is nearest; "" for none.
static void find_near(const char *folder, const char *name, char near[MM_RUN_PATH_SIZE]) {
  DIR *opened = opendir(folder);
  const struct dirent *entry;
  near[0] = '\0';
  while (opened && (entry = readdir(opened))) {
    char file[MM_RUN_PATH_SIZE];
    struct stat about;
    int length = snprintf(file, sizeof file, "%s/%s/run.db", folder, entry->d_name);
    if (length >= (int)sizeof file || stat(file, &about) != 0) continue;
    // in the order of the alphabet, whatever that of the folder is
    const bool before = strcmp(entry->d_name, near) < 0 || !near[0];
    const char *two[2] = { before ? entry->d_name : near, before ? near : entry->d_name };
    const char *best = mm_nearest(name, two, near[0] ? 2 : 1);
    if (best == entry->d_name) snprintf(near, MM_RUN_PATH_SIZE, "%s", best);
  }
  if (opened) closedir(opened);
}

// A run that is there, for one that is not: beside it, or below `runs` for a name without a folder.
static mm_status fail_missing(const char *path) {
  char folder[MM_RUN_PATH_SIZE], near[MM_RUN_PATH_SIZE];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  const char *name = slash ? slash + 1 : path;
  if (slash) *slash = '\0';
  find_near(slash ? folder : ".", name, near);
  if (!slash && !near[0])
    find_near(strcpy(folder, "runs"), name, near);
  else if (!slash)
    folder[0] = '\0';
  if (!near[0])
    return MM_FAIL(MM_ERR_INPUT, "no run '%s': expected a run folder or its run.db", path);
  return MM_FAIL(MM_ERR_INPUT,
                 "no run '%s': expected a run folder or its run.db (did you mean '%s%s%s'?)", path,
                 folder, folder[0] ? "/" : "", near);
}

// Folder and file from what the user gave, which may be either.
static mm_status name_files(mm_run *run, const char *path) {
  struct stat about;
  if (!copy_path(path, run->file)) return mm_folder_fail_long(path);
  if (stat(run->file, &about) != 0) {
    if (errno == ENOENT) return fail_missing(run->file);
    return mm_folder_fail("open the run", path, errno);
  }
  memcpy(run->folder, run->file, sizeof run->folder);
  if (S_ISDIR(about.st_mode)) {
    append(run->file, "run.db");
  } else {
    char *slash = strrchr(run->folder, '/');
    if (!slash)
      strcpy(run->folder, ".");
    else
      slash[slash == run->folder] = '\0';
  }
  if (make_real(run->file, run->real)) return MM_OK;
  if (errno == ENOENT)
    return MM_FAIL(MM_ERR_INPUT, "'%s' is not a run folder: there is no run.db in it", path);
  return mm_folder_fail("open the run", run->file, errno);
}

static void remove_beside(const mm_run *run, const char *const *endings) {
  char path[MM_RUN_BESIDE_SIZE];
  for (; *endings; endings++) {
    mm_run_beside(run, *endings, path);
    unlink(path);
  }
}

// What a process left behind that died while it was making this run; only under the lock.
static void remove_building(const mm_run *run) {
  static const char *const endings[] = { ".new", ".new-journal", ".new-wal", ".new-shm", NULL };
  remove_beside(run, endings);
}

// ---------------------------------------------------------------------------------------------
// Opening

typedef struct heading {
  mm_run *run;
  bool no_memory;
} heading;

static mm_status copy_text(const char *text, char **out) {
  if (*out) return MM_OK;
  size_t size = strlen(text) + 1;
  *out = mm_alloc(size);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "out of memory");
  memcpy(*out, text, size);
  return MM_OK;
}

static int on_meta(const mm_run_row *any, void *user) {
  const mm_run_meta *row = &any->meta;
  heading *h = user;
  char **target = NULL;
  if (strcmp(row->key, "command") == 0) target = &h->run->command;
  if (strcmp(row->key, "config") == 0) target = &h->run->config;
  if (strcmp(row->key, MM_RUN_COMMAND_LINE) == 0) target = &h->run->command_line;
  h->no_memory = target && copy_text(row->value, target) != MM_OK;
  return h->no_memory;
}

static mm_status read_heading(mm_run *run) {
  heading h = { .run = run };
  mm_status status = mm_run_each(run, MM_RUN_META, on_meta, &h);
  if (h.no_memory) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", run->file);
  if (status == MM_OK && (!run->command || !run->config)) {
    mm_run_note_damage(run, "the command or the configuration is missing");
    status = MM_FAIL(MM_ERR_INPUT, "'%s' is damaged (%s)", run->file, run->damage);
  }
  if (status != MM_ERR_INPUT || run->access != MM_RUN_SALVAGE) return status;
  // what is intact is to be had without them
  MM_TRY(copy_text("", &run->command));
  return copy_text("{}", &run->config);
}

static mm_status find_end(mm_run *run) {
  mm_run_generation row;
  bool found;
  MM_TRY(mm_run_last_generation(run, &row, &found));
  run->last = found ? row.generation : -1;
  return MM_OK;
}

// With the files named and, for writing, locked.
static mm_status open_named(mm_run *run) {
  MM_TRY(mm_run_connect(run));
  MM_TRY(read_heading(run));
  return run->access == MM_RUN_WRITE ? find_end(run) : MM_OK;
}

mm_status mm_run_open(const char *path, mm_run_access access, mm_run **out) {
  mm_run *run;
  *out = NULL;
  MM_TRY(take_object(path, access, &run));
  mm_status status = name_files(run, path);
  if (status == MM_OK && access == MM_RUN_WRITE)
    status = mm_run_lock(run->real, run->file, &run->lock);
  if (status == MM_OK && access == MM_RUN_WRITE) remove_building(run);
  if (status == MM_OK) status = open_named(run);
  if (status == MM_OK)
    *out = run;
  else
    destroy(run);
  return status;
}

void mm_run_close(mm_run *run) {
  if (!run) return;
  mm_run_drop(run);
  destroy(run);
}

// ---------------------------------------------------------------------------------------------
// Creating

static mm_status put_command_line(mm_run *run) {
  char *line;
  MM_TRY(mm_run_format_argv(&line));
  if (!line) return MM_OK;
  mm_status status = mm_run_put_row(run, MM_RUN_META, &(mm_run_meta){ MM_RUN_COMMAND_LINE, line });
  mm_free(line);
  return status;
}

static mm_status fill(mm_run *run, const char *command, const char *config) {
  char sql[MM_RUN_SQL_SIZE];
  MM_TRY(mm_run_harden(run));
  // so that pages of what is no longer kept can be given back
  MM_TRY(mm_run_exec(run, "PRAGMA auto_vacuum=INCREMENTAL; BEGIN"));
  snprintf(sql, sizeof sql, "PRAGMA application_id=%d", MM_RUN_APPLICATION);
  MM_TRY(mm_run_exec(run, sql));
  MM_TRY(mm_run_make_tables(run, 0));
  MM_TRY(mm_run_put_row(run, MM_RUN_META, &(mm_run_meta){ "command", command }));
  MM_TRY(mm_run_put_row(run, MM_RUN_META, &(mm_run_meta){ "config", config }));
  MM_TRY(put_command_line(run));
  return mm_run_exec(run, "COMMIT");
}

static mm_status build(mm_run *run, const char *path, const char *command, const char *config) {
  int code = sqlite3_open_v2(path, &run->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  mm_status status = code == SQLITE_OK ? fill(run, command, config) : mm_run_fail(run, code);
  mm_run_disconnect(run);
  return status;
}

// Gives the file its name unless that is taken. Where there are no hard links the lock must do.
static mm_status publish(const mm_run *run, const char *path) {
  struct stat about;
  if (link(path, run->real) != 0) {
    if (errno == EEXIST || errno == ENOSPC || errno == EROFS || lstat(run->real, &about) == 0)
      return mm_folder_fail("make", run->file, errno);
    if (rename(path, run->real) != 0) return mm_folder_fail("make", run->file, errno);
  }
  unlink(path);
  mm_folder_synchronise_parent(run->real);
  return MM_OK;
}

static mm_status create_named(mm_run *run, const char *command, const char *config) {
  static const char *const log[] = { "-wal", "-shm", "-journal", NULL };
  static const char *const all[] = { "-wal", "-shm", "-journal", "", NULL };
  char path[MM_RUN_BESIDE_SIZE];
  struct stat about;
  MM_TRY(mm_run_lock(run->real, run->file, &run->lock));
  if (lstat(run->real, &about) == 0)
    return MM_FAIL(MM_ERR_INPUT,
                   "there is a run in '%s' already: resume it, or choose another folder",
                   run->folder);
  if (strlen(run->real) > MM_RUN_SQLITE_PATH) return mm_folder_fail_long(run->file);
  mm_run_beside(run, ".new", path);
  remove_building(run);
  remove_beside(run, log); // of a database that is gone: SQLite would take them for the new one's
  mm_status status = build(run, path, command, config);
  if (status == MM_OK) status = publish(run, path);
  if (status != MM_OK) {
    remove_building(run);
    return status;
  }
  status = open_named(run);
  if (status == MM_OK) return MM_OK;
  mm_run_disconnect(run);
  remove_beside(run, all);
  return status;
}

static mm_status name_new(mm_run *run, const char *folder) {
  if (!copy_path(folder, run->folder)) return mm_folder_fail_long(folder);
  memcpy(run->file, run->folder, sizeof run->file);
  append(run->file, "run.db");
  if (!make_real(run->folder, run->real)) return mm_folder_fail("open the folder", folder, errno);
  append(run->real, "run.db");
  return MM_OK;
}

mm_status mm_run_create(const char *folder, const char *command, const char *config, mm_run **out) {
  mm_run *run;
  cJSON *root;
  bool made;
  *out = NULL;
  MM_TRY(mm_json_parse(config, strlen(config), "configuration", &root));
  cJSON_Delete(root);
  MM_TRY(mm_folder_make(folder, &made));
  mm_status status = take_object(folder, MM_RUN_WRITE, &run);
  if (status == MM_OK) {
    status = name_new(run, folder);
    if (status == MM_OK) status = create_named(run, command, config);
    if (status != MM_OK) destroy(run);
  }
  if (status == MM_OK)
    *out = run;
  else if (made)
    rmdir(folder); // succeeds only when nobody else put anything there
  return status;
}

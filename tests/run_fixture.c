// SPDX-License-Identifier: Apache-2.0
// Small runs in a temporary folder, for the suites of the run database.

#define _GNU_SOURCE // umount2

#include "run_fixture.h"

#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

// ---------------------------------------------------------------------------------------------
// Folders and files

static char root[512];

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *walk) {
  (void)about;
  (void)type;
  (void)walk;
  return remove(path);
}

int fixture_open(void **state) {
  (void)state;
  // thousands of commits: in memory where there is such a place, because disks take their time
  const char *base = getenv("TMPDIR");
  if (!base || !base[0]) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(root, sizeof root, "%s/mm-run-XXXXXX", base);
  return mkdtemp(root) ? 0 : -1;
}

// A test that failed may have left something mounted on one of its folders.
int fixture_close(void **state) {
  (void)state;
  umount2(fixture_path("small"), MNT_DETACH);
  umount2(fixture_path("place"), MNT_DETACH);
  return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fixture_path(const char *name) {
  static char path[8][1024];
  static int next;
  next = (next + 1) % 8;
  snprintf(path[next], sizeof path[next], "%s%s%s", root, name[0] ? "/" : "", name);
  return path[next];
}

char *fixture_load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long length = ftell(file);
  assert_true(length >= 0);
  rewind(file);
  char *bytes = malloc((size_t)length + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)length, file), length);
  fclose(file);
  *size = (size_t)length;
  return bytes;
}

void fixture_store(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

bool fixture_exists(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0;
}

size_t fixture_entries(const char *folder) {
  size_t n = 0;
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(directory);
  return n;
}

void fixture_sql(const char *name, const char *sql) {
  char path[1100];
  sqlite3 *db;
  char *error = NULL;
  snprintf(path, sizeof path, "%s/run.db", fixture_path(name));
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) fail_msg("%s: %s", sql, error);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

// ---------------------------------------------------------------------------------------------
// What generation g holds

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

static double number(uint64_t key) {
  return (double)(int64_t)mix(key) / 9007199254740992.0;
}

static mm_run_generation generation_row(int64_t g, unsigned char state[FIXTURE_STATE]) {
  uint64_t k = (uint64_t)g * 1000;
  for (size_t i = 0; i < FIXTURE_STATE; i++)
    state[i] = (unsigned char)mix(k * 7919 + i);
  return (mm_run_generation){
    .generation = g,
    .phase = g >= 10,
    .sigma = number(k + 1),
    .fitness_mean = g % 5 == 4 ? NAN : number(k + 2),
    .fitness_sd = (double)g, // whole numbers are stored in another way
    .fitness_best = g % 3 == 0 ? NAN : number(k + 4),
    .nonfinite = g % 7,
    .env_steps = (uint64_t)g * FIXTURE_JOBS * 128,
    .state = state,
    .state_size = (size_t)(g % 11 == 5 ? 0 : FIXTURE_STATE - g % 13),
  };
}

static mm_run_job job_row(int64_t g, int i) {
  uint64_t k = (uint64_t)g * 1000 + 100 + (uint64_t)i;
  bool failed = mix(k) % 9 == 0;
  return (mm_run_job){
    .generation = g,
    .member = i / FIXTURE_TASKS,
    .task = i % FIXTURE_TASKS,
    .env = i % 3,
    .seed = mix(k),
    .value = failed ? NAN : number(k + 50),
    .status = failed ? MM_ERR_NUMERIC : MM_OK,
    .env_steps = 128,
  };
}

static const char *const labels[] = { "l2", "learned", "negentropy", "random \xc3\xa4\xc3\xb6" };

static mm_run_score score_row(int64_t g, int i) {
  uint64_t k = (uint64_t)g * 1000 + 500 + (uint64_t)i;
  return (mm_run_score){
    .generation = g,
    .phase = g >= 10,
    .map = labels[i / 3],
    .task = i % 3,
    .env = 0,
    .seed = i == 0 ? UINT64_MAX : mix(k),
    .value = number(k),
    .optimal = i % 2 ? number(k + 1) : NAN,
    .status = MM_OK,
    .env_steps = 256,
  };
}

static mm_run_timing timing_row(int64_t g) {
  return (mm_run_timing){ .generation = g,
                          .seconds = 0.1 * (double)g,
                          .seconds_jobs = 0.05 * (double)g,
                          .seconds_validation = g % 4 ? 0 : 0.25 };
}

// ---------------------------------------------------------------------------------------------
// Writing

mm_run *fixture_create(const char *name) {
  mm_run *run;
  assert_ok(mm_run_create(fixture_path(name), "learn",
                          "{\"env\":[\"GridWorld-all\"],\"learn\":{\"generations\":20}}", &run));
  return run;
}

void fixture_start(mm_run *run) {
  mm_run_session session = { .backend = "cpu", .isa = "avx2", .threads = 2 };
  assert_ok(mm_run_session_start(run, &session));
}

static mm_status put_rows(mm_run *run, int64_t g) {
  unsigned char state[FIXTURE_STATE];
  mm_run_generation row = generation_row(g, state);
  mm_run_job job[FIXTURE_JOBS];
  mm_run_score score[12];
  mm_run_timing timing = timing_row(g);
  for (int i = 0; i < FIXTURE_JOBS; i++)
    job[i] = job_row(g, i);
  for (int i = 0; i < 12; i++)
    score[i] = score_row(g, i);
  MM_TRY(mm_run_put_generation(run, &row));
  if (g > 0) MM_TRY(mm_run_put_jobs(run, job, FIXTURE_JOBS));
  if (g % 4 == 0) MM_TRY(mm_run_put_scores(run, score, 12));
  return mm_run_put_timing(run, &timing);
}

mm_status fixture_put(mm_run *run, int64_t g) {
  MM_TRY(mm_run_begin(run));
  mm_status status = put_rows(run, g);
  if (status == MM_OK) return mm_run_commit(run);
  mm_run_drop(run);
  return status;
}

void fixture_fill(mm_run *run, int64_t first, int64_t last) {
  for (int64_t g = first; g <= last; g++)
    assert_ok(fixture_put(run, g));
}

void fixture_make(const char *name, int64_t last) {
  mm_run *run = fixture_create(name);
  fixture_start(run);
  fixture_fill(run, 0, last);
  assert_ok(mm_run_session_end(run, "done"));
  mm_run_close(run);
}

// ---------------------------------------------------------------------------------------------
// Reading

static void same_real(double a, double b) {
  assert_true((isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0);
}

static void same_generation(const mm_run_generation *a, const mm_run_generation *b) {
  assert_int_equal(a->generation, b->generation);
  assert_int_equal(a->phase, b->phase);
  same_real(a->sigma, b->sigma);
  same_real(a->fitness_mean, b->fitness_mean);
  same_real(a->fitness_sd, b->fitness_sd);
  same_real(a->fitness_best, b->fitness_best);
  assert_int_equal(a->nonfinite, b->nonfinite);
  assert_true(a->env_steps == b->env_steps);
}

static int see_generation(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  unsigned char state[FIXTURE_STATE];
  mm_run_generation expected = generation_row(row->generation, state);
  int64_t *last = user;
  assert_true(row->generation > *last);
  *last = row->generation;
  same_generation(row, &expected);
  assert_null(row->state);
  assert_int_equal(row->state_size, 0);
  return 0;
}

static int see_score(const mm_run_row *any, void *user) {
  const mm_run_score *row = &any->score;
  mm_run_score *last = user;
  int i = 0;
  while (i < 12 && (strcmp(labels[i / 3], row->map) != 0 || i % 3 != row->task))
    i++;
  assert_true(i < 12);
  mm_run_score expected = score_row(row->generation, i);
  assert_true(row->generation > last->generation ||
              (row->generation == last->generation && i > last->task));
  *last = *row;
  last->task = i;
  assert_int_equal(row->phase, expected.phase);
  assert_int_equal(row->env, expected.env);
  assert_true(row->seed == expected.seed);
  same_real(row->value, expected.value);
  same_real(row->optimal, expected.optimal);
  assert_int_equal(row->status, expected.status);
  assert_true(row->env_steps == expected.env_steps);
  return 0;
}

static int see_timing(const mm_run_row *any, void *user) {
  const mm_run_timing *row = &any->timing;
  mm_run_timing expected = timing_row(row->generation);
  int64_t *last = user;
  assert_true(row->generation > *last);
  *last = row->generation;
  same_real(row->seconds, expected.seconds);
  same_real(row->seconds_jobs, expected.seconds_jobs);
  same_real(row->seconds_validation, expected.seconds_validation);
  return 0;
}

static void note(mm_status *worst, mm_status status) {
  if (status != MM_OK && *worst == MM_OK) *worst = status;
}

int64_t fixture_read(mm_run *run, mm_status *status) {
  int64_t last[2] = { -1, -1 }, intact = 0;
  mm_run_score score = { .generation = -1 };
  mm_run_summary summary;
  mm_run_generation row;
  bool found;
  *status = MM_OK;
  note(status, mm_run_each(run, MM_RUN_GENERATION, see_generation, &last[0]));
  note(status, mm_run_each(run, MM_RUN_SCORE, see_score, &score));
  note(status, mm_run_each(run, MM_RUN_TIMING, see_timing, &last[1]));
  note(status, mm_run_summarise(run, &summary));
  for (int64_t g = 0; g <= last[0]; g++) {
    unsigned char state[FIXTURE_STATE];
    mm_status own = mm_run_generation_at(run, g, &row, &found);
    note(status, own);
    if (own != MM_OK || !found) continue;
    mm_run_generation expected = generation_row(g, state);
    same_generation(&row, &expected);
    assert_int_equal(row.state_size, expected.state_size);
    if (row.state_size > 0) assert_memory_equal(row.state, state, row.state_size);
    intact++;
  }
  note(status, mm_run_last_generation(run, &row, &found));
  return intact;
}

void fixture_expect(const char *name, int64_t last) {
  mm_run *run;
  mm_run_generation row;
  mm_run_summary summary;
  mm_status status;
  bool found;
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
  assert_int_equal(fixture_read(run, &status), last + 1);
  assert_ok(status);
  assert_ok(mm_run_last_generation(run, &row, &found));
  assert_int_equal(found, last >= 0);
  if (found) assert_int_equal(row.generation, last);
  assert_ok(mm_run_summarise(run, &summary));
  assert_int_equal(summary.generations, last > 0 ? last : 0);
  assert_int_equal(summary.evaluations, summary.generations * FIXTURE_JOBS);
  assert_null(mm_run_damage(run));
  mm_run_close(run);
}

// SPDX-License-Identifier: Apache-2.0
// Event files: bytes as TensorBoard's own writer makes them, and what an independent reader finds
// in them; runs as folders of such files.

#define _DEFAULT_SOURCE // timegm

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "event_reader.h"
#include "run_fixture.h"
#include "scarce_memory.h"
#include "show/events/event_internal.h"
#include "test.h"

enum { EVENTS = 2000 };

static event events[EVENTS];

// ---------------------------------------------------------------------------------------------
// Bytes

// RFC 3720, B.4, and the check value of the polynomial's catalogues.
static void test_crc(void **state) {
  (void)state;
  unsigned char bytes[32], ones[32], up[32];
  memset(bytes, 0, sizeof bytes);
  memset(ones, 0xff, sizeof ones);
  for (int i = 0; i < 32; i++)
    up[i] = (unsigned char)i;
  const struct {
    const void *data;
    size_t size;
    uint32_t crc;
  } known[] = {
    { "", 0, 0 },
    { "123456789", 9, 0xe3069283 },
    { bytes, 32, 0x8a9136aa },
    { ones, 32, 0x62a8ab43 },
    { up, 32, 0x46dd794e },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_int_equal(reader_crc(known[i].data, known[i].size), known[i].crc);
    assert_int_equal(mm_event_crc(known[i].data, known[i].size), known[i].crc);
  }
}

// The same four events by TensorBoard 2.21's RecordWriter with its own protocol buffers.
static void test_known_bytes(void **state) {
  (void)state;
  static const char known[] = "1800000000000000a37f4b2209000020bc7d5fda411a0d627261696e2e457665"
                              "6e743a32648411821a00000000000000129bd82d09000020bc7d5fda412a0f0a"
                              "0d0a0672657475726e15000000001e4247732a00000000000000ae8d91f50900"
                              "0050bc7d5fda4110ac022a1c0a1a0a137365617263682f6669746e6573735f6d"
                              "65616e150000c0bf3704894f1d00000000000000602fdf2309000050bc7d5fda"
                              "41108580808080202a0b0a090a02c3bc150000807f290fe16e";
  mm_event_file file;
  assert_ok(mm_event_file_start(&file, 1769862896.5));
  assert_ok(mm_event_file_put(&file, 1769862896.5, 0, "return", 0));
  assert_ok(mm_event_file_put(&file, 1769862897.25, 300, "search/fitness_mean", -1.5));
  assert_ok(mm_event_file_put(&file, 1, 7, "nothing", NAN));
  assert_ok(mm_event_file_put(&file, 1769862897.25, (1ull << 40) + 5, "\xc3\xbc", INFINITY));
  assert_int_equal(file.scalars, 3);
  assert_int_equal(2 * file.size, sizeof known - 1);
  for (size_t i = 0; i < file.size; i++) {
    char hex[3];
    snprintf(hex, sizeof hex, "%02x", file.bytes[i]);
    if (memcmp(hex, known + 2 * i, 2) != 0) fail_msg("byte %zu: %s", i, hex);
  }
  mm_event_file_release(&file);
}

// Times, steps and values of all sizes come back.
static void test_read_back(void **state) {
  (void)state;
  enum { N = 1500 };
  mm_event_file file;
  char tag[MM_EVENT_TAG_SIZE + 1];
  assert_ok(mm_event_file_start(&file, 0));
  for (int i = 0; i < N; i++)
    assert_ok(mm_event_file_put(&file, 0.25 * i, (uint64_t)i << i % 48, i % 2 ? "a" : "b/c",
                                i % 3 ? 1.0 / (i + 1) : -i));
  memset(tag, 'x', sizeof tag);
  tag[MM_EVENT_TAG_SIZE] = '\0';
  assert_fails(mm_event_file_put(&file, 0, 0, tag, 1), MM_ERR_INPUT, "fewer than 512");
  tag[MM_EVENT_TAG_SIZE - 1] = '\0';
  assert_ok(
      mm_event_file_put(&file, -1.7e308, INT64_MAX, tag, 1e300)); // infinite in single precision
  assert_int_equal(reader_read(file.bytes, file.size, events, EVENTS), N + 1);
  for (int i = 0; i < N; i++) {
    assert_true(events[i].time == 0.25 * i);
    assert_true(events[i].step == (uint64_t)i << i % 48);
    assert_string_equal(events[i].tag, i % 2 ? "a" : "b/c");
    assert_true(events[i].value == (float)(i % 3 ? 1.0 / (i + 1) : -i));
  }
  assert_true(events[N].step == INT64_MAX && isinf(events[N].value));
  assert_string_equal(events[N].tag, tag);
  mm_event_file_release(&file);
}

static void test_times(void **state) {
  (void)state;
  static const char *const good[] = { "1970-01-01T00:00:00.000Z", "1999-12-31T23:59:59.999Z",
                                      "2000-02-29T12:00:00.500Z", "2026-03-01T00:00:00.001Z",
                                      "2100-02-28T23:59:59.000Z", "2100-03-01T00:00:00.000Z",
                                      "9999-12-31T23:59:60.999Z" };
  static const char *const bad[] = { "",
                                     "2026-01-31T12:34:56Z",
                                     "2026-01-31T12:34:56.789",
                                     "2026-01-31 12:34:56.789Z",
                                     "2026-13-31T12:34:56.789Z",
                                     "2026-00-31T12:34:56.789Z",
                                     "2026-01-32T12:34:56.789Z",
                                     "2026-01-31T24:34:56.789Z",
                                     "2026-01-31T12:60:56.789Z",
                                     "1969-01-31T12:34:56.789Z",
                                     "2026-01-31T12:34:-6.789Z",
                                     "2026-01-31T12:34:56.789ZZ" };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct tm t = { 0 };
    int milli;
    assert_int_equal(sscanf(good[i], "%d-%d-%dT%d:%d:%d.%dZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
                            &t.tm_hour, &t.tm_min, &t.tm_sec, &milli),
                     7);
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    assert_true(mm_run_seconds(good[i]) == (double)timegm(&t) + milli / 1000.0);
  }
  assert_true(isnan(mm_run_seconds(NULL)));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!isnan(mm_run_seconds(bad[i]))) fail_msg("'%s' was taken", bad[i]);
}

// ---------------------------------------------------------------------------------------------
// Runs

// The only file in the folder out/<sub>, read into `events`.
static size_t read_sub(const char *sub) {
  char path[1200] = "";
  snprintf(path, sizeof path, "%s/%s", fixture_path("out"), sub);
  DIR *folder = opendir(path);
  if (!folder) {
    fail_msg("no folder '%s'", sub);
    return 0; // not reached, which the analyser does not know
  }
  size_t length = strlen(path), n = 0;
  for (struct dirent *e; (e = readdir(folder)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    assert_int_equal(strncmp(e->d_name, "events.out.tfevents.", 20), 0);
    snprintf(path + length, sizeof path - length, "/%s", e->d_name);
    n++;
  }
  closedir(folder);
  assert_int_equal(n, 1);
  size_t size;
  char *bytes = fixture_load(path, &size);
  n = reader_read(bytes, size, events, EVENTS);
  free(bytes);
  for (size_t i = 1; i < n; i++)
    assert_true(events[i].step >= events[i - 1].step ||
                strcmp(events[i].tag, events[i - 1].tag) != 0);
  return n;
}

static mm_event_count export_run(const char *name, bool damaged) {
  mm_run *run;
  mm_event_count count;
  mkdir(fixture_path("out"), 0777);
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run));
  assert_ok(mm_event_export(run, fixture_path("out"), &count));
  assert_int_equal(mm_run_damage(run) != NULL, damaged);
  mm_run_close(run);
  return count;
}

// What the fixture put, by the calls of run.h.
typedef struct truth {
  mm_run_generation generation[32];
  double time[32];     // of the timing
  double value[4][32]; // by map
  int n[4][32];
  size_t n_generation;
} truth;

static const char *const maps[] = { "l2", "learned", "negentropy", "random \xc3\xa4\xc3\xb6" };

static int see_generation(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  truth *t = user;
  t->generation[t->n_generation++] = *row;
  return 0;
}

static int see_score(const mm_run_row *any, void *user) {
  const mm_run_score *row = &any->score;
  truth *t = user;
  for (int m = 0; m < 4; m++)
    if (strcmp(maps[m], row->map) == 0) {
      t->value[m][row->generation] += row->value;
      t->n[m][row->generation]++;
    }
  return 0;
}

static int see_timing(const mm_run_row *row, void *user) {
  truth *t = user;
  struct tm at = { 0 };
  int milli;
  assert_int_equal(sscanf(row->timing.finished, "%d-%d-%dT%d:%d:%d.%dZ", &at.tm_year, &at.tm_mon,
                          &at.tm_mday, &at.tm_hour, &at.tm_min, &at.tm_sec, &milli),
                   7);
  at.tm_year -= 1900;
  at.tm_mon -= 1;
  t->time[row->timing.generation] = (double)timegm(&at) + milli / 1000.0;
  return 0;
}

static void read_truth(const char *name, truth *t) {
  mm_run *run;
  memset(t, 0, sizeof *t);
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
  assert_ok(mm_run_each(run, MM_RUN_GENERATION, see_generation, t));
  assert_ok(mm_run_each(run, MM_RUN_SCORE, see_score, t));
  assert_ok(mm_run_each(run, MM_RUN_TIMING, see_timing, t));
  mm_run_close(run);
}

static void expect_scalar(size_t *next, const truth *t, size_t g, const char *tag, double value) {
  if (isnan(value)) return;
  const event *e = &events[(*next)++];
  assert_string_equal(e->tag, tag);
  assert_int_equal(e->step, g);
  assert_true(e->value == (float)value);
  assert_true(e->time == t->time[g]);
}

static void test_search(void **state) {
  (void)state;
  enum { LAST = 13 };
  static truth t;
  fixture_make("run", LAST);
  read_truth("run", &t);
  mm_event_count count = export_run("run", false);
  size_t n = read_sub("search"), next = 0, scalars = n;
  for (size_t g = 0; g <= LAST; g++) {
    const mm_run_generation *row = &t.generation[g];
    expect_scalar(&next, &t, g, "search/fitness_mean", row->fitness_mean);
    expect_scalar(&next, &t, g, "search/fitness_best", row->fitness_best);
    expect_scalar(&next, &t, g, "search/fitness_sd", row->fitness_sd);
    expect_scalar(&next, &t, g, "search/sigma", row->sigma);
  }
  assert_int_equal(next, n);
  static const char *const subs[] = { "validation-l2", "validation-learned",
                                      "validation-negentropy", "validation-random_____" };
  for (int m = 0; m < 4; m++) {
    n = read_sub(subs[m]);
    next = 0;
    for (size_t g = 0; g <= LAST; g += 4)
      expect_scalar(&next, &t, g, "validation/value", t.value[m][g] / t.n[m][g]);
    assert_int_equal(next, n);
    scalars += n;
  }
  assert_int_equal(fixture_entries(fixture_path("out")), 5);
  assert_int_equal(count.files, 5);
  assert_int_equal(count.scalars, scalars);
}

static void put_training(mm_run *run, const mm_run_training *row, const double *value) {
  uint64_t step[8];
  for (size_t k = 0; k < 8; k++)
    step[k] = 512 * k;
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_training(run, row, step, value));
  assert_ok(mm_run_commit(run));
}

static mm_run *create_training(const char *name) {
  mm_run *run;
  assert_ok(mm_run_create(fixture_path(name), "train", "{\"env\":\"CartPole-v1\"}", &run));
  fixture_start(run);
  return run;
}

static void expect_curve(const char *sub, const double *value, size_t n) {
  size_t found = read_sub(sub), next = 0;
  for (size_t k = 0; k < n; k++) {
    if (isnan(value[k])) continue;
    assert_true(next < found);
    assert_string_equal(events[next].tag, "return");
    assert_int_equal(events[next].step, 512 * k);
    assert_true(events[next].time > 1.6e9);
    assert_true(events[next++].value == (float)value[k]);
  }
  assert_int_equal(next, found);
}

// One that broke down counts in the mean with its final value, one without a value not at all.
static void test_trainings(void **state) {
  (void)state;
  const double a[] = { 1, 2, 3, 4 }, b[] = { 3, NAN, 5.5, 7 }, broken[] = { 8, 9 };
  mm_run *run = create_training("run");
  put_training(run, &(mm_run_training){ .job = 0, .seed = 7, .points = 4, .final = 4 }, a);
  put_training(run, &(mm_run_training){ .job = 1, .seed = UINT64_MAX, .points = 4, .final = 7 }, b);
  put_training(
      run,
      &(mm_run_training){ .job = 3, .seed = 9, .status = MM_ERR_NUMERIC, .points = 2, .final = 9 },
      broken);
  put_training(run, &(mm_run_training){ .job = 4, .seed = 10, .status = MM_ERR_NUMERIC }, NULL);
  mm_run_close(run);
  mm_event_count count = export_run("run", false);
  expect_curve("seed-7", a, 4);
  expect_curve("seed-18446744073709551615", b, 4);
  expect_curve("seed-9", broken, 2);
  const double mean[] = { 4, NAN, (3 + 5.5 + 9) / 3, 20.0 / 3 };
  expect_curve("mean", mean, 4);
  assert_int_equal(fixture_entries(fixture_path("out")), 4); // the last one has no curve
  assert_int_equal(count.files, 4);
  assert_int_equal(count.scalars, 4 + 3 + 2 + 3);
}

// The points of a curve are told apart by time, in their order, within the sessions of the run;
// batches follow each other.
static void test_moments(void **state) {
  (void)state;
  const double value[] = { 1, 2, 3, 4 };
  const struct timespec pause = { .tv_nsec = 20000000 };
  mm_run *run;
  double last = 0;
  assert_ok(mm_run_create(fixture_path("run"), "tune", "{\"algo\":\"ppo\",\"map\":\"negentropy\"}",
                          &run));
  for (int64_t b = 0; b < 2; b++) { // a session for each, in order
    fixture_start(run);
    assert_ok(mm_run_put_batch(run, &(mm_run_batch){ .batch = b,
                                                     .first = b,
                                                     .jobs = 1,
                                                     .role = "validation",
                                                     .env = "E",
                                                     .map = b ? "tuned:negentropy" : "negentropy",
                                                     .settings = "{}" }));
    put_training(
        run, &(mm_run_training){ .job = b, .seed = 7, .points = 4, .final = 4, .env_steps = 1536 },
        value);
    nanosleep(&pause, NULL);
    assert_ok(mm_run_session_end(run, "done"));
  }
  mm_run_close(run);
  (void)export_run("run", false);
  static const char *const subs[2] = { "E-ppo/seed-7", "E-tuned-ppo/seed-7" }; // ppo has no map
  for (int b = 0; b < 2; b++) {
    assert_int_equal(read_sub(subs[b]), 4);
    for (int k = 0; k < 4; k++) {
      assert_true(events[k].time >= last && (k == 0 || events[k].time > last));
      last = events[k].time;
    }
  }
}

// A seed that is there twice.
static void test_repeated(void **state) {
  (void)state;
  const double a[] = { 1, 2 }, b[] = { 3, 4 };
  mm_run *run = create_training("run");
  put_training(run, &(mm_run_training){ .job = 0, .seed = 5, .points = 2 }, a);
  put_training(run, &(mm_run_training){ .job = 1, .seed = 5, .points = 2 }, b);
  mm_run_close(run);
  export_run("run", false);
  expect_curve("seed-5-job-0", a, 2);
  expect_curve("seed-5-job-1", b, 2);
}

static void expect_measure(const char *sub, const double *value, const double *error, size_t n) {
  assert_int_equal(read_sub(sub), 2 * n);
  for (size_t k = 0; k < n; k++) {
    assert_string_equal(events[k].tag, "return");
    assert_string_equal(events[n + k].tag, "estimation_error");
    assert_int_equal(events[k].step, 512 * k);
    assert_int_equal(events[n + k].step, 512 * k);
    assert_true(events[k].value == (float)value[k]);
    assert_true(events[n + k].value == (float)error[k]);
  }
}

// Trainings of several maps and environments, with a measure beside the returns.
static void test_batches(void **state) {
  (void)state;
  static const mm_run_batch batch[] = {
    { 0, 0, 2, "table", "CartPole-v1", "tsallis:0.5", "{}" },
    { 1, 2, 1, "tuning", "CartPole-v1", "l2", "{\"eta\":1}" },
    { 2, 3, 1, "tuning", "CartPole-v1", "l2", "{\"eta\":2}" },
    { 3, 4, 1, "table", "CartPole-v1", "tsallis:0.5", "{\"eta\":2}" },
    { 4, 5, 3, "table", "Acrobot-v1", "l2", "{}" }, // nothing of it is done
  };
  const uint64_t step[] = { 0, 512 };
  mm_run *run;
  assert_ok(mm_run_create(fixture_path("run"), "transfer", "{}", &run));
  fixture_start(run);
  assert_ok(mm_run_begin(run));
  for (size_t i = 0; i < sizeof batch / sizeof *batch; i++)
    assert_ok(mm_run_put_batch(run, &batch[i]));
  double value[5][2], error[5][2];
  for (int64_t job = 0; job < 5; job++) {
    for (int k = 0; k < 2; k++) {
      value[job][k] = (double)(10 * job + k);
      error[job][k] = 0.5 * (double)(job * job + k);
    }
    mm_run_training row = { .job = job, .seed = 100 + (uint64_t)(job % 2), .points = 2 };
    assert_ok(mm_run_put_training(run, &row, step, value[job]));
    assert_ok(mm_run_put_measure(run, job, "estimation_error", step, error[job], 2));
  }
  assert_ok(mm_run_commit(run));
  mm_run_close(run);
  mm_event_count count = export_run("run", false);
  assert_int_equal(fixture_entries(fixture_path("out")), 4);
  assert_true(count.files == 9 && count.scalars == 36);
  expect_measure("CartPole-v1-tsallis-0_5/seed-100", value[0], error[0], 2);
  expect_measure("CartPole-v1-tsallis-0_5/seed-101", value[1], error[1], 2);
  expect_measure("tuning-1-CartPole-v1-l2/seed-100", value[2], error[2], 2);
  expect_measure("tuning-2-CartPole-v1-l2/seed-101", value[3], error[3], 2);
  expect_measure("CartPole-v1-tsallis-0_5-2/seed-100", value[4], error[4], 2);
  const double mean[] = { 5, 6 }, mean_error[] = { 0.25, 0.75 };
  expect_measure("CartPole-v1-tsallis-0_5/mean", mean, mean_error, 2);

  // without the row of their batch they have no better name
  fixture_sql("run", "DELETE FROM batch WHERE batch = 1");
  assert_int_equal(rename(fixture_path("out"), fixture_path("before")), 0);
  export_run("run", true);
  expect_measure("without-batch/seed-100", value[2], error[2], 2);
  expect_measure("tuning-2-CartPole-v1-l2/seed-101", value[3], error[3], 2);
  assert_int_equal(fixture_entries(fixture_path("out")), 4);
}

// Labels that would be other folders, the same folder, or a name too long for one.
static void test_names(void **state) {
  (void)state;
  char longer[201];
  memset(longer, 'x', sizeof longer - 1);
  longer[200] = '\0';
  const char *const labels[] = { "../up", "A/b", "a-B", "a:b", ".", "tsallis:0.5", longer };
  enum { LABELS = sizeof labels / sizeof *labels };
  mm_run *run = fixture_create("run");
  fixture_start(run);
  mm_run_score score[LABELS];
  for (int i = 0; i < LABELS; i++)
    score[i] = (mm_run_score){ .map = labels[i], .value = i };
  assert_ok(mm_run_begin(run));
  assert_ok(
      mm_run_put_generation(run, &(mm_run_generation){ .sigma = 1, .state = "", .state_size = 0 }));
  assert_ok(mm_run_put_scores(run, score, LABELS));
  assert_ok(mm_run_commit(run));
  mm_run_close(run);
  export_run("run", false);
  static const struct {
    const char *sub;
    int label;
  } expected[] = { { "validation-__-up", 0 }, { "validation-A-b", 1 },
                   { "validation-a-B-2", 2 }, { "validation-a-b-3", 3 },
                   { "validation-_", 4 },     { "validation-tsallis-0_5", 5 } };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    assert_int_equal(read_sub(expected[i].sub), 1);
    assert_true(events[0].value == (float)expected[i].label);
  }
  assert_int_equal(fixture_entries(fixture_path("out")), LABELS + 1);
  assert_int_equal(fixture_entries(fixture_path("")), 2);
}

// A row that is not as it was written is left out, the others are there; the mean is that of whole
// curves.
static void test_damage(void **state) {
  (void)state;
  static truth t;
  fixture_make("run", 6);
  read_truth("run", &t);
  fixture_sql("run", "UPDATE generation SET sigma = 7 WHERE generation = 3");
  export_run("run", true);
  size_t n = read_sub("search");
  assert_true(n > 12);
  for (size_t i = 0; i < n; i++)
    assert_true(events[i].step != 3 && events[i].step <= 6);

  const double a[] = { 1, 2, 3, 4 }, b[] = { 3, 4, 5, 6 }, rest[] = { 1, NAN, 3, 4 };
  mm_run *run = create_training("other");
  put_training(run, &(mm_run_training){ .job = 0, .seed = 0, .points = 4, .final = 4 }, a);
  put_training(run, &(mm_run_training){ .job = 1, .seed = 1, .points = 4, .final = 6 }, b);
  mm_run_close(run);
  fixture_sql("other", "UPDATE curve SET value = 70 WHERE job = 0 AND step = 512");
  assert_int_equal(rename(fixture_path("out"), fixture_path("before")), 0);
  export_run("other", true);
  expect_curve("seed-0", rest, 4);
  expect_curve("seed-1", b, 4);
  expect_curve("mean", b, 4);
}

// The same run again gives the same bytes; a folder with files of another one is left alone.
static void test_again(void **state) {
  (void)state;
  fixture_make("run", 4);
  export_run("run", false);
  char folder[1200], path[1500] = "", other[1300];
  snprintf(folder, sizeof folder, "%s/search", fixture_path("out"));
  DIR *open = opendir(folder);
  assert_non_null(open);
  for (struct dirent *e; (e = readdir(open)) != NULL;)
    if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
  closedir(open);
  size_t size, again_size;
  char *bytes = fixture_load(path, &size);
  fixture_store(path, "old", 3);
  export_run("run", false);
  char *again = fixture_load(path, &again_size);
  assert_int_equal(size, again_size);
  assert_memory_equal(bytes, again, size);
  free(bytes);
  free(again);

  mm_run *run;
  mm_event_count count;
  snprintf(other, sizeof other, "%s/events.out.tfevents.1.somebody", folder);
  fixture_store(other, "x", 1);
  fixture_store(path, "old", 3);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_fails(mm_event_export(run, fixture_path("out"), &count), MM_ERR_INPUT, "of another run");
  mm_run_close(run);
  free(fixture_load(path, &size));
  assert_int_equal(size, 3);
}

// A run that has just begun.
static void test_empty(void **state) {
  (void)state;
  mm_run_close(fixture_create("run")); // not even a session
  mm_event_count count = export_run("run", false);
  assert_true(count.files == 0 && count.scalars == 0);
  assert_int_equal(fixture_entries(fixture_path("out")), 0);
}

// ---------------------------------------------------------------------------------------------
// Memory that runs out, at every place in turn

static void check_memory(const char *name) {
  mm_run *run;
  mm_event_count count;
  mm_status status = MM_ERR_MEMORY;
  size_t n = 0;
  mkdir(fixture_path("out"), 0777);
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
  for (; n < 1000 && status == MM_ERR_MEMORY; n++) {
    make_memory_scarce();
    allocations_left = n;
    status = mm_event_export(run, fixture_path("out"), &count);
    make_memory_usual();
  }
  assert_ok(status);
  assert_in_range(n, 10, 999);
  mm_run_close(run);
}

static void test_no_memory(void **state) {
  (void)state;
  const double a[] = { 1, 2, 3, 4 };
  fixture_make("run", 4);
  check_memory("run");
  mm_run *run = create_training("other");
  for (int64_t job = 0; job < 3; job++)
    put_training(run, &(mm_run_training){ .job = job, .seed = (uint64_t)job, .points = 4 }, a);
  mm_run_close(run);
  assert_int_equal(rename(fixture_path("out"), fixture_path("before")), 0);
  check_memory("other");
}

int suite_event_file(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_crc),
    cmocka_unit_test(test_known_bytes),
    cmocka_unit_test(test_read_back),
    cmocka_unit_test(test_times),
    TEST(search),
    TEST(trainings),
    TEST(moments),
    TEST(repeated),
    TEST(batches),
    TEST(names),
    TEST(damage),
    TEST(again),
    TEST(empty),
    TEST(no_memory),
  };
#undef TEST
  return cmocka_run_group_tests_name("event_file", tests, NULL, NULL);
}

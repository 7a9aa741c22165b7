// SPDX-License-Identifier: Apache-2.0
// Learners of plug-ins as entries of the table. A config is an array of their numbers. Runs of
// those that say how are kept as bytes:
//
//   16  mark "mirrormap/own", filled up with zeros
//    8  each: version of this format, iterations done, environment steps, points of the curve, the
//       next number of the random stream, bytes of the learner's own state
//       the curve's steps, then its values
//       the learner's own state
//    8  checksum of all that comes before

#include "agent/learner.h"

#include <math.h>
#include <string.h>

#include "agent/job_internal.h"
#include "agent/state_bytes.h"
#include "base/clock.h"
#include "base/spelling.h"
#include "base/status.h"
#include "env/plugin_env.h"

static struct {
  mm_plugin_learner law;
  mm_setting setting[MM_PLUGIN_SETTINGS];
  mm_learner learner;
} added[MM_PLUGIN_LEARNERS_MOST];
static size_t n_added;

const mm_plugin_learner *mm_plugin_learner_law(size_t i) {
  return i < n_added ? &added[i].law : NULL;
}

const mm_learner *mm_plugin_learner_at(size_t i) {
  return i < n_added ? &added[i].learner : NULL;
}

// ---------------------------------------------------------------------------------------------
// A run

enum { VERSION = 1, HEAD_SIZE = MM_STATE_MARK + 6 * 8 };

const unsigned char mm_plugin_state_mark[MM_STATE_MARK] = "mirrormap/own";

typedef struct run {
  const mm_plugin_learner *law;
  const mm_job *job;
  const volatile int *stop;
  mm_result *result;
  double batch;      // environment steps of an iteration
  size_t most, room; // points of the curve: there can be, there is room for
  mm_status trouble; // of the library's own, for the learner to return
  double saved_at;   // seconds
  void *state;       // the learner's own, to go on from
} run;

static bool grow(run *r) {
  mm_result *result = r->result;
  const size_t n = result->n_curve, room = r->room < 64 ? 64 : 2 * r->room;
  double *curve = mm_alloc_array(room, sizeof *curve);
  uint64_t *step = mm_alloc_array(room, sizeof *step);
  if (!curve || !step) {
    mm_free(curve);
    mm_free(step);
    r->trouble = MM_FAIL(MM_ERR_MEMORY, "no memory for a curve of %zu points", room);
    return false;
  }
  if (n > 0) memcpy(curve, result->curve, n * sizeof *curve);
  if (n > 0) memcpy(step, result->curve_step, n * sizeof *step);
  mm_free(result->curve);
  mm_free(result->curve_step);
  result->curve = curve;
  result->curve_step = step;
  r->room = room;
  return true;
}

static size_t curve_size(uint64_t points) {
  return (size_t)points * (sizeof(uint64_t) + sizeof(double));
}

static void save(run *r, const mm_training *t) {
  const mm_result *result = r->result;
  const size_t own = r->law->state_size(t), points = result->n_curve;
  const size_t size = HEAD_SIZE + curve_size(points) + own + MM_STATE_CHECKSUM;
  const uint64_t head[6] = { VERSION,           (uint64_t)((double)result->env_steps / r->batch),
                             result->env_steps, points,
                             t->random->next,   own };
  unsigned char *bytes = mm_alloc(size), *to = bytes;
  void *aligned = mm_alloc(own);
  if (bytes && aligned) {
    memset(aligned, 0, own); // what it does not write is stored too
    r->law->save(t, aligned);
    to = mm_state_put(to, mm_plugin_state_mark, MM_STATE_MARK);
    to = mm_state_put(to, head, sizeof head);
    to = mm_state_put(to, result->curve_step, points * sizeof *result->curve_step);
    to = mm_state_put(to, result->curve, points * sizeof *result->curve);
    to = mm_state_put(to, aligned, own);
    mm_state_seal(bytes, to);
    r->job->hooks->save(r->job, bytes, size, r->job->hooks->user);
    r->saved_at = mm_clock_seconds();
  } else {
    r->trouble = MM_FAIL(MM_ERR_MEMORY, "no memory for the state of a training");
  }
  mm_free(bytes);
  mm_free(aligned);
}

static bool is_due(const run *r, bool stopped) {
  const mm_job_hooks *hooks = r->job->hooks;
  if (!r->law->save || !hooks || !hooks->save || r->result->n_curve == 0) return false;
  return stopped ||
         (hooks->save_seconds > 0 && mm_clock_seconds() - r->saved_at >= hooks->save_seconds);
}

static bool add_point(run *r, uint64_t env_steps, double value) {
  mm_result *result = r->result;
  if (result->n_curve >= r->most || env_steps <= result->env_steps) return true;
  if (result->n_curve == r->room && !grow(r)) return false;
  result->curve[result->n_curve] = value;
  result->curve_step[result->n_curve++] = result->env_steps = env_steps;
  result->final_value = value;
  return true;
}

// What is saved has the point already.
bool mm_training_point(mm_training *t, uint64_t env_steps, double value) {
  run *r = t->own;
  if (r->trouble != MM_OK || !add_point(r, env_steps, value)) return false;
  const bool stopped = mm_job_stopped(r->stop);
  if (is_due(r, stopped)) save(r, t);
  if (stopped && r->trouble == MM_OK) r->trouble = MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  return r->trouble == MM_OK;
}

static mm_status load(run *r, mm_training *t) {
  static const char what[] = "state of a training";
  const mm_job *job = r->job;
  const unsigned char *from = job->state;
  mm_result *result = r->result;
  uint64_t head[6];
  if (!r->law->save)
    return MM_FAIL(MM_ERR_INPUT, "%s: %s does not go on from one", what, r->law->name);
  MM_TRY(mm_state_check(from, job->state_size, what, mm_plugin_state_mark, VERSION, HEAD_SIZE));
  from = mm_state_get(from + MM_STATE_MARK, head, sizeof head);
  const uint64_t steps = head[2], points = head[3], own = head[5];
  if (points < 1 || points > r->most || points > job->state_size / curve_size(1) ||
      own > job->state_size ||
      job->state_size != HEAD_SIZE + curve_size(points) + own + MM_STATE_CHECKSUM)
    return MM_FAIL(MM_ERR_INPUT, "%s: not of one with these settings", what);
  while (r->room < points)
    if (!grow(r)) return r->trouble;
  r->state = mm_alloc((size_t)own);
  if (!r->state) return MM_FAIL(MM_ERR_MEMORY, "no memory for the %s", what);
  from = mm_state_get(from, result->curve_step, (size_t)points * sizeof *result->curve_step);
  from = mm_state_get(from, result->curve, (size_t)points * sizeof *result->curve);
  mm_state_get(from, r->state, (size_t)own);
  result->n_curve = (size_t)points;
  result->final_value = result->curve[points - 1];
  mm_job_advance(result, steps);
  t->random->next = head[4];
  t->state = r->state;
  t->state_size = (size_t)own;
  return MM_OK;
}

// Of the last tenth of the steps.
static double recent_of(const mm_result *result) {
  const double from = 0.9 * (double)result->env_steps;
  double sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < result->n_curve; i++) {
    if ((double)result->curve_step[i] <= from || !isfinite(result->curve[i])) continue;
    sum += result->curve[i];
    n++;
  }
  return n > 0 ? sum / (double)n : NAN;
}

static mm_status check_actions(const mm_plugin_learner *law, const mm_env *env) {
  const mm_vec_config config = mm_vec_config_default();
  mm_vec_info info;
  mm_vec *vec;
  MM_TRY(mm_vec_create(env, &config, &vec));
  mm_vec_describe(vec, &info);
  mm_vec_destroy(vec);
  if (info.n_action == 0 && !law->real)
    return MM_FAIL(MM_ERR_INPUT,
                   "environment '%.80s' has continuous actions: %s takes discrete ones",
                   mm_env_id(env), law->name);
  if (info.n_action > 0 && !law->discrete)
    return MM_FAIL(MM_ERR_INPUT,
                   "environment '%.80s' has %d discrete actions: %s takes continuous ones",
                   mm_env_id(env), (int)info.n_action, law->name);
  return MM_OK;
}

static mm_status end(const run *r, mm_status status) {
  const mm_result *result = r->result;
  if (r->trouble != MM_OK) return r->trouble;
  if (status == MM_ERR_NUMERIC)
    return MM_FAIL(status, "%s: its numbers came to nothing", r->law->name);
  if (status != MM_OK) return MM_FAIL(status, "%s: %s", r->law->name, mm_last_error());
  if (result->n_curve == 0)
    return MM_FAIL(MM_ERR_NUMERIC, "%s: no point of a learning curve", r->law->name);
  return MM_OK;
}

static mm_status run_job(const mm_job *job, const mm_map *map, const volatile int *stop,
                         mm_result *result) {
  const size_t i = (size_t)job->algo - MM_ALGO_COUNT;
  const mm_plugin_learner *law = &added[i].law;
  const double batch = mm_job_number(job, "envs", 1) * mm_job_number(job, "unroll", 1);
  double setting[MM_PLUGIN_SETTINGS] = { 0 };
  MM_TRY(mm_learner_check(&added[i].learner, job->config));
  MM_TRY(check_actions(law, job->env));
  memcpy(setting, job->config, added[i].learner.config_size);
  double *eta = mm_learner_number(&added[i].learner, setting, "eta");
  if (eta) *eta = mm_job_eta(job, *eta); // a candidate's
  run r = { .law = law,
            .job = job,
            .stop = stop,
            .result = result,
            .batch = batch,
            .most = (size_t)(setting[0] / batch),
            .saved_at = mm_clock_seconds() };
  mm_random random = mm_random_make(mm_stream_make(job->seed, job->repeat, MM_RNG_ACTION, 0), 0);
  mm_training t = { .env = job->env,
                    .map = map,
                    .seed = job->seed,
                    .repeat = job->repeat,
                    .random = &random,
                    .setting = setting,
                    .own = &r };
  mm_status status = job->state ? load(&r, &t) : MM_OK;
  if (status == MM_OK) status = end(&r, law->train(&t));
  mm_free(r.state);
  result->recent_value = recent_of(result);
  return status;
}

// ---------------------------------------------------------------------------------------------

#define REFUSE(...) MM_FAIL(MM_ERR_INPUT, __VA_ARGS__)

static mm_status check_setting(const mm_plugin_learner *law, int32_t k) {
  const mm_plugin_setting *s = &law->setting[k];
  if (!s->name || !mm_is_plain_name(s->name) || !s->help)
    return REFUSE("learner '%s': setting %d: expected a name and a help", law->name, (int)k);
  if (!(s->least <= s->value && s->value <= s->most) || !isfinite(s->most - s->least))
    return REFUSE("learner '%s': setting '%s': expected finite numbers least <= value <= most",
                  law->name, s->name);
  for (int32_t j = 0; j < k; j++)
    if (strcmp(s->name, law->setting[j].name) == 0)
      return REFUSE("learner '%s': setting '%s' comes twice", law->name, s->name);
  return MM_OK;
}

static bool is_known(const char *key) {
  bool known = false;
  for (size_t i = 0; i < mm_algo_count(); i++)
    known |= mm_learner_setting(mm_learner_of((mm_algo)i), key) != NULL;
  return known;
}

// Keys that no learner had before, of all plug-ins together.
static size_t n_key;

static mm_status check_settings(const mm_plugin_learner *law) {
  size_t n = n_key;
  if (law->n_setting < 1 || law->n_setting > MM_PLUGIN_SETTINGS || !law->setting)
    return REFUSE("learner '%s': %d settings: expected 1 to %d", law->name, (int)law->n_setting,
                  MM_PLUGIN_SETTINGS);
  for (int32_t k = 0; k < law->n_setting; k++) {
    MM_TRY(check_setting(law, k));
    n += !is_known(law->setting[k].name);
  }
  if (strcmp(law->setting[0].name, "steps") != 0 || !(law->setting[0].least >= 1))
    return REFUSE("learner '%s': expected 'steps', at least 1, as its first setting", law->name);
  if (n > MM_PLUGIN_KEYS_MOST)
    return REFUSE("learner '%s': more than %d settings of plug-ins' own", law->name,
                  MM_PLUGIN_KEYS_MOST);
  return MM_OK;
}

mm_status mm_plugin_learner_check(const mm_plugin_learner *law) {
  mm_algo taken;
  if (!law->name || !mm_is_plain_name(law->name))
    return REFUSE("a learner without a name: expected letters, digits and . _ -");
  if (mm_algo_find(law->name, &taken))
    return REFUSE("learner '%s': there is one of that name", law->name);
  if (n_added == MM_PLUGIN_LEARNERS_MOST)
    return REFUSE("learner '%s': there are %d of plug-ins, the most there can be", law->name,
                  MM_PLUGIN_LEARNERS_MOST);
  if (!law->summary || !law->train || !(law->discrete || law->real))
    return REFUSE("learner '%s': expected a summary, train and actions that it takes", law->name);
  if (!law->state_size != !law->save)
    return REFUSE("learner '%s': expected both state_size and save, or neither", law->name);
  return check_settings(law);
}

void mm_plugin_learner_add(const mm_plugin_learner *from) {
  const size_t i = n_added;
  const mm_plugin_learner *law = &added[i].law;
  added[i].law = *from;
  for (int32_t k = 0; k < law->n_setting; k++) {
    const mm_plugin_setting *s = &law->setting[k];
    n_key += !is_known(s->name);
    added[i].setting[k] = (mm_setting){ .key = s->name,
                                        .type = MM_SETTING_NUMBER,
                                        .offset = (size_t)k * sizeof(double),
                                        .help = s->help,
                                        .value = s->value,
                                        .least = s->least,
                                        .most = s->most,
                                        .whole = s->whole };
  }
  added[i].learner = (mm_learner){ .setting = added[i].setting,
                                   .n_setting = (size_t)law->n_setting,
                                   .config_size = (size_t)law->n_setting * sizeof(double),
                                   .suits = (law->discrete ? MM_SUITS_DISCRETE : 0u) |
                                            (law->real ? MM_SUITS_REAL : 0u),
                                   .run = run_job };
  n_added++;
  mm_algo_enter(law->name);
}

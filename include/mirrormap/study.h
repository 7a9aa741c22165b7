// SPDX-License-Identifier: Apache-2.0
// Studies: learn a map, train agents, compare maps over environments, tune settings.
//
//   mm_study_config config = mm_study_config_default(MM_STUDY_TRAIN);
//   config.env = (const char *const[]){ "CartPole-v1" }, config.n_env = 1;
//   config.map = (const char *const[]){ "l2" }, config.n_map = 1;
//   config.seeds = 8;
//   mm_study *study;
//   mm_study_create("runs/cartpole", &config, &study);      mm_study_open to go on with one
//   mm_study_machine machine = mm_study_machine_default();
//   while (!mm_study_done(study)) mm_study_advance(study, &machine);
//   mm_study_cell cell;
//   mm_study_cell_at(study, 0, &cell);                       cell.mean, cell.sem, cell.final[i]
//   mm_study_close(study);
//
// A study lives in a folder. Its database, run.db, holds the plan, every training run that has come
// to its end, and checkpoints of the others: a process may be killed at any moment, and whoever
// opens the folder again resumes to the same bits. Everything but the times follows from the
// config, on any number of threads and on any machine. The folder belongs to one process at a time;
// anybody may read the database meanwhile (mm_study_rows).
//
// Threads: a study may be used by one thread at a time, different studies by different threads at
// the same time. What is said of a function below holds besides.

#ifndef MIRRORMAP_STUDY_H
#define MIRRORMAP_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"
#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_study mm_study;

// One line per kind: name in the interface, name in commands and files.
#define MM_STUDY_LIST(X)                                                                           \
  X(LEARN, "learn")       /* an evolution strategy searches for a map */                           \
  X(TRAIN, "train")       /* one map on one environment, many seeds */                             \
  X(TRANSFER, "transfer") /* maps x environments x seeds */                                        \
  X(TUNE, "tune")         /* hyper-parameters of maps on some environments */

typedef enum mm_study_kind {
#define MM_STUDY_ENUM(KIND, name) MM_STUDY_##KIND,
  MM_STUDY_LIST(MM_STUDY_ENUM)
#undef MM_STUDY_ENUM
      MM_STUDY_KINDS
} mm_study_kind;

// From any thread.
MM_API const char *mm_study_kind_name(mm_study_kind kind);

// ---------------------------------------------------------------------------------------------
// Creating and resuming

// Names of environments and of maps are shorter than this.
enum { MM_STUDY_NAME_SIZE = 512 };

// The most that a config may ask for.
enum {
  MM_STUDY_SEEDS_MAX = 1000000,    // of a map on an environment
  MM_STUDY_LIST_MAX = 1000,        // TRANSFER: maps, and environments
  MM_STUDY_LEARN_ENVS = 64,        // LEARN: environments
  MM_STUDY_TUNE_ENVS = 16,         // TUNE: environments,
  MM_STUDY_TUNE_MAPS = 8,          // maps,
  MM_STUDY_TRIALS_MAX = 10000,     // trials,
  MM_STUDY_TRIAL_SEEDS_MAX = 1000, // seeds of each,
  MM_STUDY_VALIDATE_MAX = 100000   // and fresh seeds
};

// What decides the result. Texts and lists belong to the caller and are copied.
typedef struct mm_study_config {
  size_t size; // of this struct, set by mm_study_config_default
  mm_study_kind kind;
  // IDs or task files, none twice: one for TRAIN, several for the others.
  const char *const *env;
  size_t n_env;
  // Maps as mm_map_open takes them: one for TRAIN, up to 8 for TUNE; the rows of TRANSFER, where
  // "<map>:tuned-eta" is one with a step size of its own, and "tsallis:tuned-q-eta" one with the q
  // of its potential besides; for LEARN the map to start from, or none.
  const char *const *map;
  size_t n_map;
  // Settings. The algorithm ("pmd", "ampo", "pmd-gaussian", "ppo"; NULL: the one of each
  // environment), a preset by its name or file (NULL: none), then single ones as "key=value",
  // those of `mirrormap train --help`; for LEARN also those of the search. PPO takes no map, so
  // LEARN and TRANSFER refuse it, and of the others the map has no effect.
  const char *algo, *preset;
  const char *const *set;
  size_t n_set;
  uint64_t seed; // of the first run, or of the search; others follow it
  size_t seeds;  // runs of a map on an environment (TUNE: of a trial); LEARN has settings for it
  size_t tune_seeds; // TRANSFER: runs for each of nine step sizes, on seeds of their own
  // TUNE: the file that says which settings are tried within which ranges, how often, how many at a
  // time; whether trials that fall behind end early; fresh seeds for the winner at the end (0:
  // none).
  const char *space;
  size_t trials, population, validate;
  bool prune;
  // TRANSFER: environment steps of tuning, for each tuned row in each environment, by successive
  // halving, instead of tune_seeds; 0: those. At least a run for each candidate is taken.
  double tune_budget;
  // Maps [n_map] to take instead of opening their names, of tuned rows those to be tuned; copied.
  // NULL, or NULL for one of them: it is opened.
  const mm_map *const *open_map;
  // TRANSFER: what rows and columns are called in tables and files ([n_map], [n_env]; NULL: by
  // their names), and how many of the last rows are controls.
  const char *const *map_label, *const *env_label;
  size_t n_control;
  const char *method; // TUNE: "grid", "cma-es" or "halving"; NULL: what the space's file says
  char *const *argv;  // the command line that the study is to say it was made by, as main has it;
                      // NULL: none
} mm_study_config;

// The defaults of the commands of that name. From any thread.
MM_API void mm_study_config_init(mm_study_config *out, size_t size, mm_study_kind kind);
static inline mm_study_config mm_study_config_default(mm_study_kind kind) {
  mm_study_config config;
  mm_study_config_init(&config, sizeof config, kind);
  return config;
}

// A new study in `folder`, which is made (with its parents) unless it exists; one that is there
// already is MM_ERR_INPUT. What is wrong with the config shows before the folder is made. TRAIN and
// TRANSFER do without a folder (NULL), and then store nothing. From any thread, also several at a
// time for different folders.
MM_API mm_status mm_study_create(const char *folder, const mm_study_config *config, mm_study **out);

// Names of the maps that a table of these [n] should have beside them, as `transfer --controls`
// adds them: negentropy, l2 and a random map of the first learned one's family; if `full` also two
// of Tsallis', that family's initial map, and the tuned rows. Returns how many there are. From any
// thread.
enum { MM_STUDY_CONTROLS_MAX = 9 };
MM_API size_t mm_study_controls(const mm_map *const *map, size_t n, bool full,
                                char name[MM_STUDY_CONTROLS_MAX][MM_STUDY_NAME_SIZE]);

// What a row of TRANSFER is made of: "l2" of "l2:tuned-eta", any other name itself. From any
// thread.
MM_API mm_status mm_study_base_map(const char *name, char out[MM_STUDY_NAME_SIZE]);

// Environment steps of the whole search that a map's card (mm_map_meta) tells of: those that it has
// counted, or in cards of before those that were planned; 0 without one. What a fair tune_budget
// is. From any thread.
MM_API double mm_study_card_steps(const char *card);

// TRANSFER: steps that the most expensive tuned row takes at least in an environment, a run for
// each of its candidates; 0 without such rows. From any thread.
MM_API mm_status mm_study_least_budget(const mm_study_config *config, double *out);

// How many step sizes are tried where `tune_seeds` says with how many runs each.
enum { MM_STUDY_ETAS = 9 };

// The study in `folder`, of whatever kind, to go on with it. MM_ERR_IO when another process owns
// it, MM_ERR_INPUT when it is none or is damaged. From any thread.
MM_API mm_status mm_study_open(const char *folder, mm_study **out);

// Ends the session, if mm_study_end has not, and releases the study; the folder stays.
MM_API void mm_study_close(mm_study *study);

MM_API mm_study_kind mm_study_get_kind(const mm_study *study); // as it was created
MM_API const char *mm_study_folder(const mm_study *study);     // until the study is closed; NULL
                                                               // for one that stores nothing

// Another number of generations for a LEARN study, not below those it has. MM_ERR_INPUT for other
// kinds, and where a schedule fixes it.
MM_API mm_status mm_study_lengthen(mm_study *study, int64_t generations);

// MM_ERR_UNSUPPORTED, with the reason, unless devices can do all training runs that a study of this
// config may ask for (TUNE: with whatever its space allows); or those of a study that is there: one
// of the two is NULL. From any thread.
MM_API mm_status mm_study_check_devices(const mm_study_config *config, const mm_study *study);

// ---------------------------------------------------------------------------------------------
// Advancing

// Who does the work, and who hears of it. None of it changes a result.
typedef struct mm_study_machine {
  size_t size;         // of this struct, set by mm_study_machine_default
  const char *backend; // "cpu", "cuda", or "auto": devices where they can do a list of runs
  int threads;         // 0: one per core
  double job_timeout;  // > 0: a run at work for longer, in seconds, fails with MM_ERR_TIMEOUT
  double save_seconds; // how often unfinished runs are checkpointed; 0: only when interrupted
  // Nonzero ends the call soon with MM_ERR_INTERRUPTED; may be set by another thread or by a signal
  // handler. NULL: nobody stops it.
  const volatile int *stop;
  // Called by the thread that advances, a few times a second: runs done of those in hand, and their
  // environment steps so far. May be NULL.
  void (*progress)(size_t done, size_t total, uint64_t env_steps, void *user);
  void *user;
  const int *devices; // [n_device] numbers of the CUDA devices to use, which must outlive the
                      // study; NULL: all
  size_t n_device;
} mm_study_machine;

// One thread per core, checkpoints every 60 seconds. From any thread.
MM_API void mm_study_machine_init(mm_study_machine *out, size_t size);
static inline mm_study_machine mm_study_machine_default(void) {
  mm_study_machine machine;
  mm_study_machine_init(&machine, sizeof machine);
  return machine;
}

// The next step: of LEARN a generation, or the first validation of a phase; of the others all that
// is left. MM_ERR_INTERRUPTED, and any other failure, leaves the study where the database is; it
// may be advanced again, in this process or another. A run that fails is no failure of the call:
// its cell counts it. Starts the threads it needs and has ended them when it returns.
MM_API mm_status mm_study_advance(mm_study *study, const mm_study_machine *machine);

// Whether nothing is left to be done.
MM_API bool mm_study_done(const mm_study *study);

// How it stands. May also be called from `progress`.
typedef struct mm_study_progress {
  double done, total;         // of the whole study, sessions before this one included,
  const char *unit;           // in "generations", "runs" or "trials"
  size_t n_failed, n_numeric; // runs without a value; runs that diverged and count with their last
                              // finite policy
  uint64_t env_steps;         // of this process, in
  double seconds;             // so many seconds of training
} mm_study_progress;
MM_API void mm_study_look(const mm_study *study, mm_study_progress *out); // fills in all of it

// A sentence about what could not be stored, once per trouble; false when there is nothing new. A
// full disk does not stop a study: it tries again. May be called from `progress`.
enum { MM_STUDY_TROUBLE_SIZE = 1024 };
MM_API bool mm_study_trouble(mm_study *study, char out[MM_STUDY_TROUBLE_SIZE]);

// Enters in the database how this process's work ended: "done", "stopped", "interrupted", "failed",
// which is also what mm_study_format says. Best effort: a disk that is full has no room for it.
MM_API void mm_study_end(mm_study *study, const char *outcome);

// ---------------------------------------------------------------------------------------------
// Results; result.h has the rest of what is known of them

// Seeds of one map on one environment. LEARN has one for the best validated mean ("learned") and
// one for each control, over all validation tasks; TUNE the baseline settings and the winner
// ("tuned:<map>") on fresh seeds, for each environment.
typedef struct mm_study_cell {
  const char *env, *map;      // labels; until the study is closed. LEARN: env is ""
  double mean, sem;           // of the final returns; NaN where undefined
  size_t n;                   // runs with a value
  size_t n_failed, n_numeric; // as in mm_study_progress
  const double *final;        // [n_seed] in the order of the seeds, NaN without a value, -infinity
                              // where no episode ended; until the study advances. NULL for LEARN
  size_t n_seed;
  uint64_t seed; // of the first
  double eta;    // the step size; NaN where the algorithm has none, or where it is not known
} mm_study_cell;

// How many there are now, and the i-th of them. Those of TRANSFER, map by map, are there when all
// runs have ended.
MM_API size_t mm_study_cells(const mm_study *study);
MM_API mm_status mm_study_cell_at(const mm_study *study, size_t i, mm_study_cell *out);

// The map a LEARN study has found: the best validated mean, with its card as meta; a map of the
// caller's own (mm_map_destroy). MM_ERR_INPUT for other kinds, and before the first validation.
MM_API mm_status mm_study_map(const mm_study *study, mm_map **out);

// A setting of the winner of a TUNE study, e.g. "eta", as text. MM_ERR_INPUT for other kinds, for
// settings that the space does not have, and before the first trial.
enum { MM_STUDY_SETTING_SIZE = 128 };
MM_API mm_status mm_study_setting(const mm_study *study, const char *key,
                                  char out[MM_STUDY_SETTING_SIZE]);

// Writes what the study has come to into its folder, as the command of its name does: LEARN
// mean.json and best.json, TRANSFER table.csv, runs.csv, curves.csv (where there are any) and
// table.json, TUNE trials.csv, tune.json, the winner's maps where these were tuned, and preset.yaml
// unless that is there already. TRAIN has written policy.safetensors when it is done. MM_ERR_INPUT
// without a folder, and where there is nothing to be written yet.
MM_API mm_status mm_study_write(mm_study *study);

// Draws its pictures there: LEARN search.svg, TRANSFER transfer.svg and curves.svg, TUNE tune.svg;
// the latter two also as PNG. TRAIN has none. MM_ERR_UNSUPPORTED where gnuplot is missing.
MM_API mm_status mm_study_draw(mm_study *study);

// Everything as the text of one JSON object, that of the commands' --json, to be released with
// mm_study_text_free. One that is not complete may have little to say.
MM_API mm_status mm_study_format(mm_study *study, char **out);
MM_API void mm_study_text_free(char *text);

// ---------------------------------------------------------------------------------------------
// Databases

typedef enum mm_value_type {
  MM_VALUE_NULL,
  MM_VALUE_INTEGER, // seeds and counts of steps are the same 64 bits without a sign
  MM_VALUE_REAL,
  MM_VALUE_TEXT, // `data` ends in a zero that `bytes` does not count
  MM_VALUE_BYTES,
  MM_VALUE_UNSIGNED // of columns alone (mm_run_columns)
} mm_value_type;

// One column of a row. Texts and bytes belong to the callback's call.
typedef struct mm_study_value {
  const char *name; // of the column
  mm_value_type type;
  int64_t integer;
  double real;
  const void *data;
  size_t bytes;
} mm_study_value;

// A nonzero return ends the walk.
typedef int mm_study_see_row(const mm_study_value *value, size_t n, void *user);

// Every row of a table of the study in `folder`, in the order of its key, also while a process
// works on it, and of databases of every version so far (docs/run-database.md lists tables and
// columns). Checksums are looked at: a damaged row is MM_ERR_INPUT, when the intact ones have been
// seen. From any thread.
MM_API mm_status mm_study_rows(const char *folder, const char *table, mm_study_see_row *see,
                               void *user);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
// Reproductions of the paper's figures and tables: searches, training runs and figures in one
// folder, at one of three scales.
//
//   mm_paper_config config = mm_paper_config_default();
//   config.artefact = "gridworld", config.scale = "smoke";
//   mm_paper *paper;
//   mm_paper_create("runs/gridworld", &config, &paper);     mm_paper_open to go on with one
//   mm_paper_job job = mm_paper_job_default();
//   job.finished = see_artefact;                            hears of an mm_artefact
//   mm_paper_run(paper, &job);
//   mm_paper_close(paper);
//
// A reproduction is a run with a database of its own, and holds the searches and tables that it
// needs as studies in folders of their own. Everything but the times follows from the config: what
// is done is found again after a crash.
//
// Threads: a reproduction may be used by one thread at a time, different ones by different threads
// at the same time. What is said of a function below holds besides.

#ifndef MIRRORMAP_REPRODUCE_H
#define MIRRORMAP_REPRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/backend.h"
#include "mirrormap/base.h"
#include "mirrormap/result.h"
#include "mirrormap/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_paper mm_paper;

// ---------------------------------------------------------------------------------------------
// Creating and resuming

// The i-th artefact of the paper, "phi", "gridworld", "control", "minatar", "transfer", "mujoco",
// and last "all" for all of them; the i-th scale, "smoke" (under a minute: everything is there,
// nothing is learned), "laptop" (10 to 30 minutes on two cores), "paper" (its sizes). NULL past the
// end. From any thread.
MM_API const char *mm_paper_artefact_name(size_t i);
MM_API const char *mm_paper_scale_name(size_t i);

enum { MM_PAPER_SEEDS_MAX = 100000 };

// What decides the result. Texts and lists belong to the caller and are copied.
typedef struct mm_paper_config {
  size_t size; // of this struct, set by mm_paper_config_default
  const char *artefact, *scale;
  uint64_t seed; // of searches, and of the first training run; the others follow it
  size_t seeds;  // runs for each map and environment; 0: as the scale says
  // Settings as "key=value" that replace the scale's, of searches and training runs alike.
  const char *const *set;
  size_t n_set;
  // Folders of other reproductions whose learned maps are taken instead of learning them here.
  const char *const *from;
  size_t n_from;
  char *const *argv; // as in mm_study_config
} mm_paper_config;

// "laptop", with seed 0; `artefact` is left at NULL. From any thread.
MM_API void mm_paper_config_init(mm_paper_config *out, size_t size);
static inline mm_paper_config mm_paper_config_default(void) {
  mm_paper_config config;
  mm_paper_config_init(&config, sizeof config);
  return config;
}

// Checks the config and makes the folder, which must be new or empty. MM_ERR_UNSUPPORTED for a
// library that is missing. From any thread.
MM_API mm_status mm_paper_create(const char *folder, const mm_paper_config *config, mm_paper **out);

// The reproduction in `folder`, to go on with it. From any thread.
MM_API mm_status mm_paper_open(const char *folder, mm_paper **out);
MM_API void mm_paper_close(mm_paper *paper);

// Where it lives, what is reproduced, and at which scale.
MM_API const char *mm_paper_folder(const mm_paper *paper);
MM_API const char *mm_paper_artefact(const mm_paper *paper);
MM_API const char *mm_paper_scale(const mm_paper *paper);

// MM_ERR_UNSUPPORTED, with the reason, unless devices can do all that a config trains, or a
// reproduction that is there: one of the two is NULL. What is always done on the CPU is no matter.
// From any thread.
MM_API mm_status mm_paper_check_devices(const mm_paper_config *config, const mm_paper *paper);

// ---------------------------------------------------------------------------------------------
// Running

typedef struct mm_artefact mm_artefact;

// Who runs it, and who hears of it. The functions may be NULL; they are called from the calling
// thread.
typedef struct mm_paper_job {
  size_t size; // of this struct, set by mm_paper_job_default
  mm_backend_place place;
  int threads;        // 0: one per core
  double job_timeout; // as in mm_backend_config
  const volatile int *stop;
  // What is being done ("search on CartPole-v1, target=code"), how much of it, in what.
  void (*progress)(const char *stage, double done, double total, const char *unit, void *user);
  // Something worth knowing that is no failure: a picture that could not be drawn.
  void (*warn)(const char *sentence, void *user);
  // An artefact is complete; `all` has several. It stays for the time of the call.
  void (*finished)(const mm_artefact *result, void *user);
  void *user;
  char *const *argv; // for the searches and tables that it makes, as in mm_study_config
} mm_paper_job;

// Devices where they can do it all, else one thread per core. From any thread.
MM_API void mm_paper_job_init(mm_paper_job *out, size_t size);
static inline mm_paper_job mm_paper_job_default(void) {
  mm_paper_job job;
  mm_paper_job_init(&job, sizeof job);
  return job;
}

// Does what is not done yet, and writes the files. MM_ERR_INTERRUPTED leaves the rest for later.
MM_API mm_status mm_paper_run(mm_paper *paper, const mm_paper_job *job);

// Training runs without a result, which the files lack; *why: of the first of them. They are open,
// to be trained again.
MM_API size_t mm_paper_failures(const mm_paper *paper, const char **why);

// Enters in the database how this process ended: "done", "stopped", "interrupted", "failed".
MM_API void mm_paper_end(mm_paper *paper, const char *outcome);

// ---------------------------------------------------------------------------------------------
// What an artefact came out as. Everything belongs to it.

typedef struct mm_artefact_info {
  size_t size; // of this struct, set by the caller
  const char *folder, *artefact, *scale;
  const char *label, *more; // "reduced: laptop scale, .." or "the paper's sizes"; more of it, or ""
  size_t n_cell, n_claim, n_note;
  double seconds;     // of this process,
  uint64_t env_steps; // searches included
} mm_artefact_info;

// The artefact as a whole.
MM_API mm_status mm_artefact_describe(const mm_artefact *artefact, mm_artefact_info *out);

// What is measured of a single run, beside its curve.
typedef enum mm_quantity {
  MM_QUANTITY_FINAL,    // return at the end
  MM_QUANTITY_LATE,     // Grid-World: mean value over the last 10 iterations
  MM_QUANTITY_DROPS,    // iterations that lose more than 1 % of the task's range, V* - V0
  MM_QUANTITY_DISTANCE, // mean policy distance of the iterations within 50,000 steps, the paper's
                        // 24
  MM_QUANTITY_ERROR,    // mean estimation error
  MM_QUANTITY_EARLY,    // gain in value within these, minus half of that of the whole run; both are
                        // undefined for a run that is not longer
  MM_QUANTITIES
} mm_quantity;

typedef struct mm_artefact_curve {
  const char *name; // "value", "estimation_error", ..
  mm_curve_point *point;
  size_t n;
} mm_artefact_curve;

enum { MM_ARTEFACT_CURVES = 4 };

// Seeds of one map on one environment.
typedef struct mm_artefact_cell {
  char env[64], map[64];
  char target[8];                      // of AMPO; "" where there is none
  bool control;                        // not in the paper's figure or table
  double eta;                          // NaN where the algorithm has none
  double paper;                        // final return that the paper gives; NaN for none
  bool has_paper_colour, paper_better; // the table's green
  size_t n_failed, n_numeric;          // runs that say nothing, runs that diverged
  size_t n_run;                        // seeds
  double *run[MM_QUANTITIES]; // [n_run] in the order of the seeds, NaN where undefined; NULL: not
                              // measured here. Final returns are worths (mm_result_worth)
  mm_estimate value[MM_QUANTITIES];
  mm_worths of;                     // of the final returns
  mm_comparison over[MM_BASELINES]; // of these with negentropy's and with l2's
  mm_artefact_curve curve[MM_ARTEFACT_CURVES];
  size_t n_curve;
  double optimal; // mean V* of the instances; NaN where not known
} mm_artefact_cell;

// Fewer runs say too little of what others would be like to decide anything.
enum { MM_CLAIM_RUNS = 8 };

typedef struct mm_claim {
  const char *env, *target; // where
  const char *text;         // the paper's
  mm_estimate gain;         // what should be positive, or 0 for a tie, as we find it
  bool tie;
  // 1 holds, -1 does not hold, 0 inconclusive. What should be positive: its 95 % interval is above
  // or below 0, else inconclusive. A tie holds where the interval includes 0.
  int verdict;
} mm_claim;

// The i-th of each; NULL past the end. A note is a sentence: a switch, what was learned, ..
MM_API const mm_artefact_cell *mm_artefact_cell_at(const mm_artefact *artefact, size_t i);
MM_API const mm_claim *mm_artefact_claim_at(const mm_artefact *artefact, size_t i);
MM_API const char *mm_artefact_note_at(const mm_artefact *artefact, size_t i);

// Who did the work of this process, as mm_study_machine_text.
MM_API const char *mm_artefact_machine_text(const mm_artefact *artefact,
                                            char out[MM_STUDY_MACHINE_TEXT]);

// Everything but the curves and single runs as the text of a JSON object, to be released with
// mm_study_text_free.
MM_API mm_status mm_artefact_format(const mm_artefact *artefact, char **out);

#ifdef __cplusplus
}
#endif

#endif

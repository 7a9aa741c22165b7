// SPDX-License-Identifier: Apache-2.0
// Reproductions of the paper's figures and table: searches, training runs and figures in one
// folder, at one of three scales.
//
//   mm_paper_create(folder, &plan, &reproduce);    or  mm_paper_resume(folder, &reproduce);
//   mm_paper_run(reproduce, &job);
//   mm_paper_close(reproduce);
//
// A reproduction is a run of its own, with a run database, and holds the searches and tables it
// needs as runs in folders of their own, each like one of `learn` or `transfer`. Everything but the
// times follows from the plan alone: what is done is found again after a crash.

#ifndef MM_PAPER_H
#define MM_PAPER_H

#include "backend/backend.h"
#include "paper/artefact.h"
#include "study/jobs/plan.h"
#include "study/run/run.h"

typedef enum mm_artefact_id {
  MM_ARTEFACT_PHI,       // the parametrisation of phi
  MM_ARTEFACT_GRIDWORLD, // tabular PMD on Grid-World: value, estimation error, policy distance
  MM_ARTEFACT_CONTROL,   // AMPO on Acrobot and CartPole: performance, potentials, policies
  MM_ARTEFACT_MINATAR,   // AMPO on Asterix, Freeway and SpaceInvaders, likewise
  MM_ARTEFACT_TRANSFER,  // the table of maps learned on one environment and used on another
  MM_ARTEFACT_MUJOCO,    // PMD with Gaussian policies on Hopper, HalfCheetah and Ant
  MM_ARTEFACT_ALL,       // all of them, in this order
  MM_ARTEFACTS
} mm_artefact_id;

typedef enum mm_scale {
  MM_SCALE_SMOKE,  // under a minute: everything is there, nothing is learned
  MM_SCALE_LAPTOP, // 10 to 30 minutes on two cores
  MM_SCALE_PAPER,  // the paper's sizes
  MM_SCALES
} mm_scale;

const char *mm_artefact_name(mm_artefact_id artefact);
const char *mm_scale_name(mm_scale scale);
bool mm_artefact_find(const char *name, mm_artefact_id *out);
bool mm_scale_find(const char *name, mm_scale *out);

enum { MM_PAPER_SETS = 32, MM_PAPER_FROM = 8, MM_PAPER_SEEDS_MAX = 100000 };

typedef struct mm_paper_set {
  char key[48], value[80];
} mm_paper_set;

// What decides the result.
typedef struct mm_paper_plan {
  mm_artefact_id artefact;
  mm_scale scale;
  uint64_t seed; // of searches, and of the first training; the others follow it
  size_t seeds;  // trainings for each map and environment; 0: as the scale says
  // Settings that replace the scale's, of searches and trainings alike.
  mm_paper_set set[MM_PAPER_SETS];
  size_t n_set;
  // Folders of other reproductions whose learned maps are taken instead of learning them here.
  char from[MM_PAPER_FROM][MM_PLAN_NAME_SIZE];
  size_t n_from;
} mm_paper_plan;

typedef struct mm_paper mm_paper;

// Checks the plan and makes the folder. MM_ERR_UNSUPPORTED for a library that is missing.
mm_status mm_paper_create(const char *folder, const mm_paper_plan *plan, mm_paper **out);

// Goes on where the reproduction in `folder` stopped.
mm_status mm_paper_resume(const char *folder, mm_paper **out);
void mm_paper_close(mm_paper *reproduce);

// Can devices do all that the plan trains? Else MM_ERR_UNSUPPORTED with the reason. (What is always
// done by the processor is no matter.)
mm_status mm_paper_check_devices(const mm_paper_plan *plan);

const mm_paper_plan *mm_paper_get_plan(const mm_paper *reproduce);
const char *mm_paper_folder(const mm_paper *reproduce);

// Who runs it, and who hears of it. The functions may be NULL; they are called from the calling
// thread.
typedef struct mm_paper_job {
  mm_backend_place place;
  int threads;        // 0: one per core
  double job_timeout; // as in mm_backend_config
  const volatile int *stop;
  // What is being done ("search on CartPole-v1, target=code"), how much of it, in what.
  void (*progress)(const char *stage, double done, double total, const char *unit, void *user);
  // Something worth knowing that is no failure: a picture that could not be drawn.
  void (*warn)(const char *sentence, void *user);
  // An artefact is complete; `all` has several.
  void (*finished)(const mm_artefact *result, void *user);
  void *user;
} mm_paper_job;

// Does what is not done yet, and writes the files. MM_ERR_INTERRUPTED leaves the rest for later.
mm_status mm_paper_run(mm_paper *reproduce, const mm_paper_job *job);

// Trainings without a result, which the files lack; *why: of the first of them. They are open, to
// be trained again.
size_t mm_paper_failures(const mm_paper *reproduce, const char **why);

// Says in the database how this process ended: "done", "stopped", "interrupted", "failed".
void mm_paper_note_end(mm_paper *reproduce, const char *outcome);

#endif

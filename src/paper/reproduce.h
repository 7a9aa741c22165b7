// The paper's figures and tables, made again: searches, trainings and pictures in one folder, at
// one of three scales.
//
//   mm_reproduce_create(folder, &plan, &reproduce);    or  mm_reproduce_resume(folder, &reproduce);
//   mm_reproduce_run(reproduce, &job);
//   mm_reproduce_close(reproduce);
//
// A reproduction is a run of its own, with a run database, and holds the searches and tables it
// needs as runs in folders of their own, each like one of `learn` or `transfer`. Everything but the
// times follows from the plan alone: what is done is found again after a crash.

#ifndef MM_EXPERIMENT_REPRODUCE_H
#define MM_EXPERIMENT_REPRODUCE_H

#include "backend/backend.h"
#include "paper/reproduction.h"
#include "study/jobs/plan.h"
#include "study/run/run.h"

#define MM_ARTEFACT_LIST(X)                                                                        \
  X(PHI, "phi", "the parametrisation of phi")                                                      \
  X(GRIDWORLD, "gridworld", "tabular PMD on Grid-World: value, estimation error, policy distance") \
  X(CONTROL, "control", "AMPO on Acrobot and CartPole: performance, potentials, policies")         \
  X(MINATAR, "minatar", "AMPO on Asterix, Freeway and SpaceInvaders, likewise")                    \
  X(TRANSFER, "transfer", "the table of maps learned on one environment and used on another")      \
  X(MUJOCO, "mujoco", "PMD on Hopper, HalfCheetah and Ant")                                        \
  X(ALL, "all", "all of them")

typedef enum mm_artefact {
#define MM_ARTEFACT_ENUM(name, text, about) MM_ARTEFACT_##name,
  MM_ARTEFACT_LIST(MM_ARTEFACT_ENUM)
#undef MM_ARTEFACT_ENUM
      MM_ARTEFACTS
} mm_artefact;

typedef enum mm_scale {
  MM_SCALE_SMOKE,  // under a minute: everything is there, nothing is learned
  MM_SCALE_LAPTOP, // 10 to 30 minutes on two cores
  MM_SCALE_PAPER,  // the paper's sizes
  MM_SCALES
} mm_scale;

const char *mm_artefact_name(mm_artefact artefact);
const char *mm_artefact_about(mm_artefact artefact);
const char *mm_scale_name(mm_scale scale);
bool mm_artefact_find(const char *name, mm_artefact *out);
bool mm_scale_find(const char *name, mm_scale *out);

enum { MM_REPRODUCE_SETS = 32, MM_REPRODUCE_FROM = 8, MM_REPRODUCE_SEEDS_MAX = 100000 };

typedef struct mm_reproduce_set {
  char key[48], value[80];
} mm_reproduce_set;

// What decides the result.
typedef struct mm_reproduce_plan {
  mm_artefact artefact;
  mm_scale scale;
  uint64_t seed; // of searches, and of the first training; the others follow it
  size_t seeds;  // trainings for each map and environment; 0: as the scale says
  // Settings that replace the scale's, of searches and trainings alike.
  mm_reproduce_set set[MM_REPRODUCE_SETS];
  size_t n_set;
  // Folders of other reproductions whose learned maps are taken instead of learning them here.
  char from[MM_REPRODUCE_FROM][MM_PLAN_NAME_SIZE];
  size_t n_from;
} mm_reproduce_plan;

typedef struct mm_reproduce mm_reproduce;

// Checks the plan and makes the folder. MM_ERR_UNSUPPORTED for a library that is missing.
mm_status mm_reproduce_create(const char *folder, const mm_reproduce_plan *plan,
                              mm_reproduce **out);

// Goes on where the reproduction in `folder` stopped.
mm_status mm_reproduce_resume(const char *folder, mm_reproduce **out);
void mm_reproduce_close(mm_reproduce *reproduce);

// Can devices do all that the plan trains? Else MM_ERR_UNSUPPORTED with the reason. (What is always
// done by the processor is no matter.)
mm_status mm_reproduce_check_devices(const mm_reproduce_plan *plan);

const mm_reproduce_plan *mm_reproduce_get_plan(const mm_reproduce *reproduce);
const char *mm_reproduce_folder(const mm_reproduce *reproduce);

// Who runs it, and who hears of it. The functions may be NULL; they are called from the calling
// thread.
typedef struct mm_reproduce_job {
  mm_backend_place place;
  int threads;        // 0: one per core
  double job_timeout; // as in mm_backend_config
  const volatile int *stop;
  // What is being done ("search on CartPole-v1, target=code"), how much of it, in what.
  void (*progress)(const char *stage, double done, double total, const char *unit, void *user);
  // Something worth knowing that is no failure: a picture that could not be drawn.
  void (*warn)(const char *sentence, void *user);
  // An artefact is complete; `all` has several.
  void (*finished)(const mm_reproduction *result, void *user);
  void *user;
} mm_reproduce_job;

// Does what is not done yet, and writes the files. MM_ERR_INTERRUPTED leaves the rest for later.
mm_status mm_reproduce_run(mm_reproduce *reproduce, const mm_reproduce_job *job);

// Trainings without a result, which the files lack; *why: of the first of them. They are open, to
// be trained again.
size_t mm_reproduce_failures(const mm_reproduce *reproduce, const char **why);

// Says in the database how this process ended: "done", "stopped", "interrupted", "failed".
void mm_reproduce_note_end(mm_reproduce *reproduce, const char *outcome);

#endif

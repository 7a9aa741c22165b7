// SPDX-License-Identifier: Apache-2.0
// The plan of a reproduction (mirrormap/reproduce.h).

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

enum { MM_PAPER_SETS = 32, MM_PAPER_FROM = 8 };

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

// The same as mm_paper_create with a plan.
mm_status mm_paper_begin(const char *folder, const mm_paper_plan *plan, mm_paper **out);

#endif

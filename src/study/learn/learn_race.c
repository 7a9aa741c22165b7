// SPDX-License-Identifier: Apache-2.0
// Racing: candidates are trained to a fraction of their length, the worse half is dropped, the
// others go on from where they are. A run that goes on has the bits of one that was never stopped,
// so after a crash its state need not be there: then it begins again.
//
// Only the order counts. A candidate that was dropped ranks below all that went on, in the order of
// the values at which they were dropped; equals are equals.

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/learn/learn_internal.h"

static const double fractions[] = { 0.2, 0.5, 1 };
enum { ROUNDS = sizeof fractions / sizeof *fractions };

double mm_learn_race_share(void) {
  double share = 0, before = 0, kept = 1;
  for (int r = 0; r < ROUNDS; r++, kept /= 2) {
    share += kept * (fractions[r] - before);
    before = fractions[r];
  }
  return share;
}

// The jobs of n runners, which go on from the list of the round before, if there was one.
static void list_jobs(mm_learn *l, const mm_settings *settings, size_t n, int round) {
  for (size_t i = 0; i < n * l->n_task; i++) {
    const mm_learn_runner *runner = &l->runner[i / l->n_task];
    mm_job *job = &l->job[i];
    *job = mm_learn_member_job(l, settings, runner->member, i % l->n_task);
    job->until = fractions[round] < 1 ? fractions[round] : 0;
    if (round == 0) continue;
    job->state = mm_job_store_state(
        l->study.store, l->place + runner->slot * l->n_task + i % l->n_task, &job->state_size);
  }
}

// What training i of the round came to, for the rows of the generation.
static void note_results(mm_learn *l, size_t n) {
  for (size_t i = 0; i < n * l->n_task; i++)
    l->last[l->runner[i / l->n_task].member * l->n_task + i % l->n_task] = l->result[i];
}

static bool has_diverged(const mm_learn *l, size_t slot) {
  for (size_t j = 0; j < l->n_task; j++)
    if (l->result[slot * l->n_task + j].status != MM_OK) return true;
  return false;
}

// The n runners by l->fitness, the worst first: those without a value before all others, and of
// these the diverged ones, which would not come further.
static void put_in_order(mm_learn *l, size_t n) {
  for (size_t k = 0; k < n; k++) {
    double value = isfinite(l->fitness[k]) ? l->fitness[k]
                   : has_diverged(l, k)    ? -INFINITY
                                           : -DBL_MAX;
    l->order[k] = (mm_learn_placed){ value, k };
  }
  qsort(l->order, n, sizeof *l->order, mm_learn_compare_placed);
}

// The places, from `first` on, of the `end` worst of the round.
static void give_places(mm_learn *l, size_t first, size_t end) {
  for (size_t k = 0, equal = 0; k < end; k++) {
    const size_t slot = l->order[k].member;
    if (l->order[k].value != l->order[equal].value) equal = k;
    l->told[l->runner[slot].member] =
        isfinite(l->fitness[slot]) ? (double)(first + equal) : (double)NAN;
  }
}

static int by_slot(const void *a, const void *b) {
  const mm_learn_placed *x = a, *y = b;
  return (x->member > y->member) - (x->member < y->member);
}

// Those behind the first `drop` go on, in the order that they have.
static void keep(mm_learn *l, size_t drop, size_t n) {
  qsort(l->order + drop, n - drop, sizeof *l->order, by_slot);
  for (size_t k = drop; k < n; k++) {
    const size_t slot = l->order[k].member;
    l->runner[k - drop] = (mm_learn_runner){ l->runner[slot].member, slot };
  }
}

// How many of n are dropped: the worse half, and all that diverged.
static size_t dropped(const mm_learn *l, size_t n) {
  size_t drop = n / 2;
  while (drop < n && l->order[drop].value == -INFINITY)
    drop++;
  return drop;
}

static mm_status run_round(mm_learn *l, const mm_backend_config *backend,
                           const mm_settings *settings, size_t n, int round) {
  list_jobs(l, settings, n, round);
  MM_TRY(mm_learn_run_jobs(l, backend, n * l->n_task, MM_STAGE_POPULATION, round));
  note_results(l, n);
  mm_learn_judge(l, n);
  put_in_order(l, n);
  return MM_OK;
}

// Of the last n, which came to the end; the others have no fitness to show.
static void note_raw(mm_learn *l, size_t n) {
  for (size_t k = 0; k < n; k++)
    l->part[k] = l->raw[k];
  for (size_t i = 0; i < l->n_member; i++)
    l->raw[i] = NAN;
  for (size_t k = 0; k < n; k++)
    l->raw[l->runner[k].member] = l->part[k];
}

mm_status mm_learn_race(mm_learn *l, const mm_backend_config *backend,
                        const mm_settings *settings) {
  size_t n = l->n_member, drop = 0, behind = 0;
  for (size_t i = 0; i < n; i++)
    l->runner[i] = (mm_learn_runner){ i, i };
  for (int round = 0; round < ROUNDS && n > 0; round++, behind += drop, n -= drop) {
    MM_TRY(run_round(l, backend, settings, n, round));
    drop = round + 1 < ROUNDS ? dropped(l, n) : n;
    give_places(l, behind, drop);
    if (drop == n) note_raw(l, round + 1 < ROUNDS ? 0 : n);
    keep(l, drop, n);
  }
  memcpy(l->fitness, l->told, l->n_member * sizeof *l->told);
  for (size_t j = 0; j < l->n_job; j++)
    l->job[j] = mm_learn_member_job(l, settings, j / l->n_task, j % l->n_task);
  l->result = l->last;
  return MM_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Members in the order of fitness. Heap sort, in place: no memory is asked for in a generation, and
// with a total order every sort gives the same result anyway.

#include <math.h>

#include "base/rng.h"
#include "evolve/es_internal.h"

static bool is_better(mm_ranked a, mm_ranked b) {
  if (a.fitness != b.fitness) return a.fitness > b.fitness;
  return a.member < b.member;
}

// Lets the entry at `root` of heap[n] sink until none below it is worse: the worst is on top.
static void sink(mm_ranked *heap, size_t root, size_t n) {
  mm_ranked entry = heap[root];
  for (size_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && is_better(heap[child], heap[child + 1])) child++;
    if (!is_better(entry, heap[child])) break;
    heap[root] = heap[child];
  }
  heap[root] = entry;
}

static void sort_best_first(mm_ranked *entry, size_t n) {
  for (size_t i = n / 2; i-- > 0;)
    sink(entry, i, n);
  for (size_t end = n; end-- > 1;) {
    mm_ranked worst = entry[0];
    entry[0] = entry[end];
    entry[end] = worst;
    sink(entry, 0, end);
  }
}

size_t mm_es_rank(const double *fitness, size_t n, mm_ranked *ranked) {
  size_t nonfinite = 0;
  for (size_t i = 0; i < n; i++) {
    bool finite = isfinite(fitness[i]);
    ranked[i] = (mm_ranked){ .fitness = finite ? fitness[i] : -(double)INFINITY, .member = i };
    nonfinite += !finite;
  }
  sort_best_first(ranked, n);
  return nonfinite;
}

void mm_es_share(const mm_ranked *ranked, size_t n, const double *by_rank, double *weight) {
  for (size_t first = 0, end; first < n; first = end) {
    double sum = 0;
    for (end = first; end < n && ranked[end].fitness == ranked[first].fitness; end++)
      sum += by_rank[end];
    double share = sum / (double)(end - first);
    for (size_t r = first; r < end; r++)
      weight[ranked[r].member] = share;
  }
}

// Shuffles every group of equals.
static void draw_lots(const mm_es *es, mm_ranked *ranked) {
  mm_stream stream =
      mm_stream_make(es->config.seed, (uint32_t)es->generation, MM_RNG_EVOLVE_TIE, 0);
  for (size_t first = 0, end; first < es->population; first = end) {
    end = first + 1;
    while (end < es->population && ranked[end].fitness == ranked[first].fitness)
      end++;
    for (size_t k = end - 1; k > first; k--) {
      size_t other = first + mm_uniform_int(mm_stream_pair(stream, k), (uint32_t)(k - first + 1));
      mm_ranked kept = ranked[k];
      ranked[k] = ranked[other];
      ranked[other] = kept;
    }
  }
}

size_t mm_es_weigh_by_order(mm_es *es, const double *fitness) {
  size_t n = es->population, nonfinite = mm_es_rank(fitness, n, es->ranked);
  draw_lots(es, es->ranked);
  for (size_t r = 0; r < n; r++)
    es->weight[es->ranked[r].member] = es->by_rank[r];
  return nonfinite;
}

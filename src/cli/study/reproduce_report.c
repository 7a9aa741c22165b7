// Tables of an artefact: a block per environment and target with a row per map, then the paper's
// claims with a column per environment, then what should be known about all of it.

#include "cli/study/reproduce_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"

// Four digits or so, as its standard error deserves.
static const char *estimate_text(mm_estimate e, bool sign) {
  double scale = e.sem > 0 ? e.sem : fabs(e.mean) / 100;
  int digits = scale > 0 ? (int)fmin(fmax(1 - floor(log10(scale)), 0), 6) : 2;
  return study_estimate(e, digits, sign);
}

static const char *iqm_text(const mm_artefact_cell *c) {
  if (isnan(c->of.iqm.iqm)) return "-";
  return output_format("%.4g [%.4g, %.4g]", c->of.iqm.iqm, c->of.iqm.low, c->of.iqm.high);
}

static const char *difference_text(const mm_artefact_cell *c, int from) {
  static const char *const name[2] = { "negentropy", "l2" };
  mm_estimate e = c->over[from].gain;
  if (strcmp(c->map, name[from]) == 0 || isnan(e.mean)) return "";
  return output_format("%s%s %3.0f %%", estimate_text(e, true),
                       mm_estimate_sign(e) != 0 ? " *" : "  ", fmin(100 * c->over[from].wins, 100));
}

// "476.41 (-1.3)": the paper's value and how many of our standard errors ours is above it.
static const char *paper_text(const mm_artefact_cell *c) {
  mm_estimate e = c->value[MM_QUANTITY_FINAL];
  if (isnan(c->paper)) return "";
  if (!(e.sem > 0)) return output_format("%.2f", c->paper);
  return output_format("%.2f (%+.1f)", c->paper, (e.mean - c->paper) / e.sem);
}

// ---------------------------------------------------------------------------------------------
// Blocks

static bool same_block(const mm_artefact_cell *a, const mm_artefact_cell *b) {
  return strcmp(a->env, b->env) == 0 && strcmp(a->target, b->target) == 0;
}

static bool has_paper(const mm_artefact *r) {
  for (size_t i = 0; i < r->n_cell; i++)
    if (!isnan(r->cell[i].paper)) return true;
  return false;
}

static void put_row(table *out, const mm_artefact_cell *c, bool paper) {
  int sign = mm_estimate_sign(c->over[0].gain);
  table_text(out, c->map);
  table_format(out, "%zu", c->of.n);
  table_text(out, isnan(c->eta) ? "" : output_number(c->eta));
  table_text(out, estimate_text(c->value[MM_QUANTITY_FINAL], false));
  if (sign != 0 && strcmp(c->map, "negentropy") != 0) table_mark(out, sign > 0);
  table_text(out, iqm_text(c));
  table_text(out, difference_text(c, 0));
  table_text(out, difference_text(c, 1));
  if (paper) table_text(out, paper_text(c));
}

static void put_block(const mm_artefact *r, size_t first, size_t end) {
  const mm_artefact_cell *c = &r->cell[first];
  bool paper = has_paper(r);
  printf("\n%s%s%s", c->env, c->target[0] ? ", target=" : "", c->target);
  if (!isnan(c->optimal)) printf(" (mean optimum %.4g)", c->optimal);
  putchar('\n');
  table *out = table_create(
      paper
          ? "<map|runs|eta|final value|IQM [95 %]|minus negentropy, won|minus l2, won|paper (s.e.)"
          : "<map|runs|eta|final value|IQM [95 %]|minus negentropy, won|minus l2, won");
  for (size_t i = first; i < end; i++)
    put_row(out, &r->cell[i], paper);
  table_print(out);
  for (size_t i = first; i < end; i++)
    if (r->cell[i].of.unfinished > 0)
      printf("%s: %zu of %zu runs finished no episode, so there is no mean\n", r->cell[i].map,
             r->cell[i].of.unfinished, r->cell[i].n_run);
}

static void put_cells(const mm_artefact *r) {
  for (size_t first = 0, end; first < r->n_cell; first = end) {
    end = first + 1;
    while (end < r->n_cell && same_block(&r->cell[first], &r->cell[end]))
      end++;
    put_block(r, first, end);
  }
}

// Grid-World has more to say of each run than its end.
static void put_quantities(const mm_artefact *r) {
  if (r->n_cell == 0 || !r->cell[0].run[MM_QUANTITY_DISTANCE]) return;
  static const mm_quantity shown[] = { MM_QUANTITY_LATE, MM_QUANTITY_DROPS, MM_QUANTITY_DISTANCE,
                                       MM_QUANTITY_ERROR };
  puts("\nmean value of the last 10 iterations; iterations that lose over 1 % of V* - V0; policy "
       "distance within the\nfirst 50,000 steps (-: runs are not longer); estimation error of all");
  table *out =
      table_create("<environment|<map|last 10 values|drops|early distance|estimation error");
  for (size_t i = 0; i < r->n_cell; i++) {
    if (!r->cell[i].run[MM_QUANTITY_DISTANCE]) continue;
    table_text(out, r->cell[i].env);
    table_text(out, r->cell[i].map);
    for (int q = 0; q < 4; q++)
      table_text(out, estimate_text(r->cell[i].value[shown[q]], false));
  }
  table_print(out);
}

// ---------------------------------------------------------------------------------------------
// Claims

static const char *verdict_of(const mm_artefact *r, const char *text, const mm_claim *at) {
  for (size_t i = 0; i < r->n_claim; i++) {
    const mm_claim *c = &r->claim[i];
    if (strcmp(c->text, text) == 0 && strcmp(c->env, at->env) == 0 &&
        strcmp(c->target, at->target) == 0)
      return c->verdict > 0 ? "holds" : c->verdict < 0 ? "no" : "open";
  }
  return "";
}

static bool is_first(const mm_artefact *r, size_t i, bool column) {
  const mm_claim *c = &r->claim[i];
  for (size_t k = 0; k < i; k++) {
    const mm_claim *other = &r->claim[k];
    if (column ? strcmp(c->env, other->env) == 0 && strcmp(c->target, other->target) == 0
               : strcmp(c->text, other->text) == 0)
      return false;
  }
  return true;
}

// Without the part of an environment's name that all of its kind share.
static const char *short_name(const char *env) {
  static const char *const tail[] = { "-MinAtar", "-v1" };
  if (strncmp(env, "GridWorld-", 10) == 0) env += 10;
  size_t length = strlen(env);
  for (int i = 0; i < 2; i++) {
    const char *at = strstr(env, tail[i]);
    if (at != NULL && (size_t)(at - env) < length) length = (size_t)(at - env);
  }
  return output_format("%.*s", (int)length, env);
}

// A table per target: the claims against the environments.
static void put_claims_of(const mm_artefact *r, const char *target) {
  size_t *column = memory_take(r->n_claim, sizeof *column), n = 0;
  for (size_t i = 0; i < r->n_claim; i++)
    if (strcmp(r->claim[i].target, target) == 0 && is_first(r, i, true)) column[n++] = i;
  printf(
      "\nclaims%s%s: holds, no (the opposite), open (the 95 %% interval of the paired difference "
      "includes 0,\nor fewer than %d runs); a tie holds where it includes 0\n",
      target[0] ? ", target=" : "", target, MM_CLAIM_RUNS);
  table *out = table_of_columns(n + 1);
  table_text(out, "<claim of the paper");
  for (size_t k = 0; k < n; k++)
    table_text(out, short_name(r->claim[column[k]].env));
  for (size_t i = 0; i < r->n_claim; i++) {
    if (!is_first(r, i, false)) continue;
    table_text(out, r->claim[i].text);
    for (size_t k = 0; k < n; k++) {
      const char *verdict = verdict_of(r, r->claim[i].text, &r->claim[column[k]]);
      table_text(out, verdict);
      if (verdict[0] == 'h' || verdict[0] == 'n') table_mark(out, verdict[0] == 'h');
    }
  }
  table_print(out);
  free(column);
}

static void put_claims(const mm_artefact *r) {
  const char *last = NULL;
  for (size_t i = 0; i < r->n_claim; i++) {
    if (last != NULL && strcmp(last, r->claim[i].target) == 0) continue;
    last = r->claim[i].target;
    put_claims_of(r, last);
  }
}

// ---------------------------------------------------------------------------------------------

void reproduce_report(const mm_artefact *r) {
  char machine[MM_MACHINE_TEXT];
  printf("%sreproduction of '%s'%s\n%s\n", terminal_style(stdout, STYLE_BOLD), r->artefact,
         terminal_style(stdout, STYLE_PLAIN), r->label);
  if (r->more[0]) puts(r->more);
  if (r->n_cell > 0)
    puts("final value: mean and standard error of the runs (IQM: interquartile mean with bootstrap "
         "interval);\ndifferences seed by seed (*: the 95 % interval, by Student's t, "
         "excludes 0) and the share of the\nseeds won; runs of all maps have the same seeds");
  put_cells(r);
  put_quantities(r);
  put_claims(r);
  putchar('\n');
  for (size_t i = 0; i < r->n_note; i++)
    printf("- %s\n", output_plain(r->note[i]));
  printf("files   %s\n", output_plain(r->folder));
  if (r->env_steps > 0)
    printf("speed   %.3g million steps/s: %.3g steps in %.3g s on %s\n",
           1e-6 * (double)r->env_steps / r->seconds, (double)r->env_steps, r->seconds,
           mm_machine_text(&r->machine, machine));
  putchar('\n');
}

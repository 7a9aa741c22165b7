// SPDX-License-Identifier: Apache-2.0
// Learned maps of other reproductions, for the table: whose they are and how they were learned is
// looked at before they are taken, and said of each.

#include <stdio.h>
#include <string.h>

#include "paper/paper_internal.h"
#include "paper/published.h"

// ---------------------------------------------------------------------------------------------
// Before anything is made

static mm_status read_lender(const char *folder, mm_paper_plan *plan) {
  char source[MM_STUDY_SOURCE_SIZE];
  mm_run *run;
  cJSON *root = NULL;
  MM_TRY(mm_run_open(folder, MM_RUN_READ, &run));
  mm_status status = mm_study_plan(run, &root, source);
  if (status == MM_OK) status = mm_paper_plan_read(root, source, plan);
  cJSON_Delete(root);
  mm_run_close(run);
  return status;
}

static bool has_maps(const mm_paper_plan *plan, const char *folder) {
  const char *target[2];
  char path[MM_PAPER_PATH];
  for (size_t t = mm_paper_targets(plan, target); t-- > 0;)
    for (size_t e = 0; e < MM_PUBLISHED_ENVS; e++) {
      snprintf(path, sizeof path, "%s/learn-%s-%s/best.json", folder, mm_published_envs[e],
               target[t]);
      if (mm_paper_exists(path)) return true;
    }
  return false;
}

mm_status mm_paper_check_lenders(const mm_paper_plan *plan) {
  for (size_t i = 0; i < plan->n_from; i++) {
    mm_paper_plan lender;
    const char *folder = plan->from[i];
    MM_TRY(read_lender(folder, &lender));
    // sizes of one scale are not to stand for those of another
    if (lender.scale != plan->scale)
      return MM_FAIL(MM_ERR_INPUT, "maps from '%s': of %s scale, where this is of %s scale", folder,
                     mm_scale_name(lender.scale), mm_scale_name(plan->scale));
    if (!has_maps(plan, folder))
      return MM_FAIL(
          MM_ERR_INPUT,
          "maps from '%s': no learned map in it, expected learn-<env>-<target>/best.json "
          "of 'control' or 'minatar'",
          folder);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Taking a map

// The settings that the map's card tells of.
static mm_status read_card(const cJSON *card, const char *source, mm_settings *out) {
  const cJSON *settings, *search;
  size_t own = mm_settings_own(out->algo);
  MM_TRY(mm_json_get_object(card, source, "settings", &settings));
  MM_TRY(mm_json_get_object(card, source, "search", &search));
  MM_TRY(mm_settings_read(settings, source, 0, own, out));
  return mm_settings_read(search, source, own, own + MM_SEARCH_KEYS, out);
}

// Whether a search with these settings made the map; what differs first.
static bool is_ours(const cJSON *card, const char *name, const mm_settings *settings,
                    char difference[MM_PAPER_DIFFERENCE]) {
  mm_settings stored = *settings;
  snprintf(difference, MM_PAPER_DIFFERENCE, "its card does not tell them");
  return read_card(card, name, &stored) == MM_OK &&
         mm_paper_same_settings(&stored, settings, true, difference);
}

static double number_of(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

// What the card says of the search, and whether it was one as this reproduction would make it.
static mm_status note_card(mm_paper *r, const char *name, const mm_settings *settings,
                           const cJSON *card) {
  const cJSON *search = cJSON_GetObjectItemCaseSensitive(card, "search");
  char other[MM_PAPER_DIFFERENCE];
  double generation = number_of(card, "generation");
  bool differs = !is_ours(card, name, settings, other);
  if (differs) r->result.foreign_maps = true;
  return mm_artefact_note(
      &r->result,
      "%s: from another reproduction, generation %.0f of %.0f%s, population %.0f, %.3g steps per "
      "training%s%s%s",
      name, generation, number_of(search, "generations"),
      generation == 0 ? " (the initial map: no later one was better)" : "",
      number_of(search, "population"),
      number_of(cJSON_GetObjectItemCaseSensitive(card, "settings"), "steps"),
      differs ? "; searched with other settings than those here: " : "", other,
      differs ? ", .." : "");
}

static mm_status note_map(mm_paper *r, const char *name, const mm_settings *settings,
                          const mm_map *map) {
  const char *meta = mm_map_meta(map);
  cJSON *card = NULL;
  if (!meta) {
    r->result.foreign_maps = true;
    return mm_artefact_note(&r->result,
                            "%s: from another reproduction, without a card that "
                            "says how it was learned",
                            name);
  }
  MM_TRY(mm_json_parse(meta, strlen(meta), name, &card));
  mm_status status = note_card(r, name, settings, card);
  cJSON_Delete(card);
  return status;
}

// The lender's map into *out and a copy of it here; NULL where no lender has one.
static mm_status copy_map(const mm_paper *r, const char *name, const char *own, mm_map **out) {
  char other[MM_PAPER_PATH];
  for (size_t i = 0; i < r->plan.n_from; i++) {
    // learning for hours what was to be had there would be a surprise
    if (!mm_paper_exists(r->plan.from[i]))
      return MM_FAIL(MM_ERR_INPUT, "maps from '%s': there is no such folder (any more)",
                     r->plan.from[i]);
    snprintf(other, sizeof other, "%s/%s/best.json", r->plan.from[i], name);
    if (!mm_paper_exists(other)) continue;
    MM_TRY(mm_map_load(other, out));
    return mm_map_save(*out, NULL, own);
  }
  return MM_OK;
}

mm_status mm_paper_borrow(mm_paper *r, const char *name, const mm_settings *settings,
                          mm_map **out) {
  char own[MM_PAPER_PATH], file[160];
  *out = NULL;
  if (r->plan.n_from == 0) return MM_OK;
  snprintf(file, sizeof file, "%s.json", name);
  mm_paper_path(r, file, own);
  mm_status status = mm_paper_exists(own) ? mm_map_load(own, out) : copy_map(r, name, own, out);
  if (status == MM_OK && *out) status = note_map(r, name, settings, *out);
  if (status == MM_OK) return MM_OK;
  mm_map_destroy(*out);
  *out = NULL;
  return status;
}

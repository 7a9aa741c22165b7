// SPDX-License-Identifier: Apache-2.0
// What the exports of searches and of training runs to event files share.

#ifndef MM_EXPERIMENT_EVENT_INTERNAL_H
#define MM_EXPERIMENT_EVENT_INTERNAL_H

#include "show/events/event_export.h"
#include "show/events/event_file.h"

enum { MM_EVENT_NAME_SIZE = 128, MM_EVENT_SUB_SIZE = 2 * MM_EVENT_NAME_SIZE };

// A process that worked on the run, in seconds since 1970.
typedef struct mm_event_session {
  double start, end;
} mm_event_session;

typedef struct mm_event_folder {
  const char *path;
  char file[MM_EVENT_NAME_SIZE]; // the name of every event file of this run
  double start;                  // of the first session
  mm_event_session *session;     // [n_session]
  size_t n_session;
  double steps, steps_before; // of all training runs; of those whose files are written
  char **taken;               // [n_taken] names given out
  size_t n_taken;
  mm_event_count count;
} mm_event_folder;

// "<stem><label>" with nothing in it that a file system could take amiss, and not the same as any
// other, also where capitals are not told from small letters.
mm_status mm_event_take_name(mm_event_folder *folder, const char *stem, const char *label,
                             char out[MM_EVENT_NAME_SIZE]);

// Writes the file in sub-folder `sub` (one or two names) unless it has no scalars.
mm_status mm_event_save(mm_event_folder *folder, const char *sub, const mm_event_file *file);

// When this share, 0 to 1, of the time was spent that all sessions took together.
double mm_event_moment(const mm_event_folder *folder, double share);

// A walk that met damage has shown what is intact.
static inline mm_status mm_event_each(mm_run *run, mm_run_table_id id, mm_run_see *see,
                                      void *user) {
  mm_status status = mm_run_each(run, id, see, user);
  return status == MM_ERR_INPUT ? MM_OK : status;
}

mm_status mm_event_export_search(mm_run *run, mm_event_folder *folder);
mm_status mm_event_export_trainings(mm_run *run, mm_event_folder *folder);

#endif

// SPDX-License-Identifier: Apache-2.0
// Event files of TensorBoard, made in memory: numbers over steps under a tag. A file is a row of
// records; docs/run-database.md has the bytes. They hold single precision, as TensorBoard does.

#ifndef MM_EXPERIMENT_EVENT_FILE_H
#define MM_EXPERIMENT_EVENT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mm_event_file {
  unsigned char *bytes; // [size]
  size_t size, room;
  uint64_t scalars; // put so far
} mm_event_file;

// Starts with the record that says what the file is. Times are seconds since 1970. Release in
// either case.
mm_status mm_event_file_start(mm_event_file *file, double wall_time);
void mm_event_file_release(mm_event_file *file);

// `tag` is UTF-8 of fewer than MM_EVENT_TAG_SIZE bytes; a slash in it makes groups. A value that is
// NaN is left out: there is none.
enum { MM_EVENT_TAG_SIZE = 512 };
mm_status mm_event_file_put(mm_event_file *file, double wall_time, uint64_t step, const char *tag,
                            double value);

// CRC-32C (Castagnoli), which the records are sealed with.
uint32_t mm_event_crc(const void *data, size_t size);

#endif

// SPDX-License-Identifier: Apache-2.0
// A record is
//
//   8  length n, little-endian
//   4  masked CRC-32C of these 8 bytes
//   n  data: a protocol buffer of type Event
//   4  masked CRC-32C of the data
//
// and a protocol buffer a row of fields, each a key (number << 3 | type) and what the type says:
//
//   Event    1 double wall_time, 2 varint step, 3 text file_version | 5 message Summary
//   Summary  1 message Value
//   Value    1 text tag, 2 float simple_value
//
// Fields that are 0 are left out, as protocol buffers of version 3 have it. Readers turn a
// simple_value into what newer writers store as a tensor with the plugin "scalars".

#include "show/events/event_file.h"

#include <math.h>
#include <string.h>

enum { RECORD_MOST = MM_EVENT_TAG_SIZE + 96 };

typedef enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } wire;

// ---------------------------------------------------------------------------------------------
// Checksums

// Half a byte at a time, by the reversed polynomial 0x82f63b78.
uint32_t mm_event_crc(const void *data, size_t size) {
  static const uint32_t table[16] = { 0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                      0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                      0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                      0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75 };
  const unsigned char *byte = data;
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < size; i++) {
    crc = table[(crc ^ byte[i]) & 15] ^ (crc >> 4);
    crc = table[(crc ^ (byte[i] >> 4)) & 15] ^ (crc >> 4);
  }
  return crc ^ UINT32_MAX;
}

// Checksums of data that hold checksums would be weak: they are stored turned and shifted.
static uint32_t masked_crc(const void *data, size_t size) {
  uint32_t crc = mm_event_crc(data, size);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// ---------------------------------------------------------------------------------------------
// Protocol buffers

typedef struct buffer {
  unsigned char byte[RECORD_MOST];
  size_t n;
} buffer;

static void put_little(buffer *b, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    b->byte[b->n++] = (unsigned char)(value >> 8 * i);
}

static void put_varint(buffer *b, uint64_t value) {
  for (; value >= 128; value >>= 7)
    b->byte[b->n++] = (unsigned char)(value | 128);
  b->byte[b->n++] = (unsigned char)value;
}

static void put_key(buffer *b, unsigned field, wire type) {
  put_varint(b, field << 3 | (unsigned)type);
}

static void put_double(buffer *b, unsigned field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (bits == 0) return;
  put_key(b, field, WIRE_64);
  put_little(b, bits, 8);
}

// One of a choice, so that also 0 is said.
static void put_float(buffer *b, unsigned field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_key(b, field, WIRE_32);
  put_little(b, bits, 4);
}

static void put_count(buffer *b, unsigned field, uint64_t value) {
  if (value == 0) return;
  put_key(b, field, WIRE_VARINT);
  put_varint(b, value);
}

static void put_bytes(buffer *b, unsigned field, const void *bytes, size_t n) {
  put_key(b, field, WIRE_BYTES);
  put_varint(b, n);
  memcpy(b->byte + b->n, bytes, n);
  b->n += n;
}

// ---------------------------------------------------------------------------------------------
// Records

static mm_status make_room(mm_event_file *file, size_t more) {
  if (file->room - file->size >= more) return MM_OK;
  size_t room = 2 * file->room + more;
  unsigned char *larger = mm_alloc(room);
  if (!larger) return MM_FAIL(MM_ERR_MEMORY, "no memory for an event file of %zu bytes", room);
  if (file->size > 0) memcpy(larger, file->bytes, file->size);
  mm_free(file->bytes);
  file->bytes = larger;
  file->room = room;
  return MM_OK;
}

static mm_status put_record(mm_event_file *file, const buffer *event) {
  buffer head = { .n = 0 }, tail = { .n = 0 };
  put_little(&head, event->n, 8);
  put_little(&head, masked_crc(head.byte, 8), 4);
  put_little(&tail, masked_crc(event->byte, event->n), 4);
  MM_TRY(make_room(file, head.n + event->n + tail.n));
  const buffer *const part[] = { &head, event, &tail };
  for (int i = 0; i < 3; i++) {
    memcpy(file->bytes + file->size, part[i]->byte, part[i]->n);
    file->size += part[i]->n;
  }
  return MM_OK;
}

mm_status mm_event_file_start(mm_event_file *file, double wall_time) {
  static const char version[] = "brain.Event:2";
  buffer event = { .n = 0 };
  *file = (mm_event_file){ 0 };
  put_double(&event, 1, wall_time);
  put_bytes(&event, 3, version, sizeof version - 1);
  return put_record(file, &event);
}

void mm_event_file_release(mm_event_file *file) {
  mm_free(file->bytes);
  *file = (mm_event_file){ 0 };
}

mm_status mm_event_file_put(mm_event_file *file, double wall_time, uint64_t step, const char *tag,
                            double value) {
  buffer event = { .n = 0 }, summary = { .n = 0 }, one = { .n = 0 };
  if (isnan(value)) return MM_OK;
  if (strlen(tag) >= MM_EVENT_TAG_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "tag '%.60s...': expected fewer than %d bytes", tag,
                   MM_EVENT_TAG_SIZE);
  put_bytes(&one, 1, tag, strlen(tag));
  put_float(&one, 2, (float)value);
  put_bytes(&summary, 1, one.byte, one.n);
  put_double(&event, 1, wall_time);
  put_count(&event, 2, step);
  put_bytes(&event, 5, summary.byte, summary.n);
  MM_TRY(put_record(file, &event));
  file->scalars++;
  return MM_OK;
}

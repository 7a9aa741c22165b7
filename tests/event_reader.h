// SPDX-License-Identifier: Apache-2.0
// Event files by the description of the format alone: checksums bit by bit, protocol buffers field
// by field. Anything that is not as expected fails the test.

#ifndef MM_TEST_EVENT_READER_H
#define MM_TEST_EVENT_READER_H

#include <stdbool.h>

#include "test.h"

enum { EVENT_TAG_ROOM = 600 };

typedef struct event {
  double time;
  uint64_t step;
  char tag[EVENT_TAG_ROOM];
  float value;
} event;

static inline uint32_t reader_crc(const unsigned char *byte, size_t n) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < 8 * n; i++) {
    uint32_t bit = (uint32_t)byte[i / 8] >> i % 8 & 1;
    crc = crc >> 1 ^ ((crc ^ bit) & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

static inline uint64_t reader_little(const unsigned char *byte, size_t n) {
  uint64_t value = 0;
  for (size_t i = n; i-- > 0;)
    value = value << 8 | byte[i];
  return value;
}

static inline void reader_check_crc(const unsigned char *byte, size_t n) {
  uint32_t crc = reader_crc(byte, n);
  uint32_t turned = crc >> 15 | crc << 17;
  assert_int_equal(reader_little(byte + n, 4), (uint32_t)(turned + 0xa282ead8));
}

// One field of a message.
typedef struct field {
  unsigned number, type;
  uint64_t value; // of types 0, 1 and 5
  const unsigned char *bytes;
  size_t size; // of type 2
} field;

static inline uint64_t reader_varint(const unsigned char **at, const unsigned char *end) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    assert_true(*at < end);
    unsigned char byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  fail_msg("a varint without an end");
  return 0;
}

static inline bool reader_field(const unsigned char **at, const unsigned char *end, field *out) {
  if (*at == end) return false;
  uint64_t key = reader_varint(at, end);
  *out = (field){ .number = (unsigned)(key >> 3), .type = key & 7 };
  size_t size = out->type == 1 ? 8 : out->type == 5 ? 4 : 0;
  if (out->type == 0 || out->type == 2) out->value = reader_varint(at, end);
  if (out->type == 2) size = (size_t)out->value;
  assert_true(out->type == 0 || out->type == 1 || out->type == 2 || out->type == 5);
  assert_true((size_t)(end - *at) >= size);
  if (size > 0 && out->type != 2) out->value = reader_little(*at, size);
  out->bytes = *at;
  out->size = size;
  *at += size;
  return true;
}

// Summary { Value { tag, simple_value } }, exactly one
static inline void reader_summary(const field *summary, event *out) {
  const unsigned char *at = summary->bytes, *end = at + summary->size;
  field value = { 0 }, f;
  bool tag = false, number = false;
  assert_true(reader_field(&at, end, &value) && at == end);
  assert_true(value.number == 1 && value.type == 2);
  at = value.bytes;
  end = at + value.size;
  while (reader_field(&at, end, &f)) {
    if (f.number == 1 && f.type == 2) {
      assert_true(!tag && f.size < EVENT_TAG_ROOM);
      memcpy(out->tag, f.bytes, f.size);
      out->tag[f.size] = '\0';
      tag = true;
    } else {
      assert_true(f.number == 2 && f.type == 5 && !number);
      uint32_t bits = (uint32_t)f.value;
      memcpy(&out->value, &bits, sizeof bits);
      number = true;
    }
  }
  assert_true(tag && number);
}

// True for a scalar, false for the version, which `first` demands.
static inline bool reader_event(const unsigned char *at, size_t size, bool first, event *out) {
  const unsigned char *end = at + size;
  bool version = false, summary = false;
  field f;
  *out = (event){ .step = 0 };
  while (reader_field(&at, end, &f)) {
    if (f.number == 1 && f.type == 1)
      memcpy(&out->time, &f.value, sizeof out->time);
    else if (f.number == 2 && f.type == 0)
      out->step = f.value;
    else if (f.number == 3 && f.type == 2) {
      assert_true(f.size == 13 && memcmp(f.bytes, "brain.Event:2", 13) == 0);
      version = true;
    } else {
      assert_true(f.number == 5 && f.type == 2 && !summary);
      reader_summary(&f, out);
      summary = true;
    }
  }
  assert_true(version == first && summary == !first);
  return summary;
}

// The scalars of a file into out[most]; returns how many there are.
static inline size_t reader_read(const void *bytes, size_t size, event *out, size_t most) {
  const unsigned char *at = bytes, *end = at + size;
  size_t n = 0;
  for (bool first = true; at < end; first = false) {
    assert_true(end - at >= 16);
    uint64_t length = reader_little(at, 8);
    reader_check_crc(at, 8);
    assert_true(length <= (uint64_t)(end - at) - 16);
    reader_check_crc(at + 12, (size_t)length);
    event e;
    if (reader_event(at + 12, (size_t)length, first, &e)) {
      assert_true(n < most);
      out[n++] = e;
    } else {
      assert_true(first);
    }
    at += length + 16;
  }
  return n;
}

#endif

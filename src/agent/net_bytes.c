// SPDX-License-Identifier: Apache-2.0
// Networks as bytes:
//
//   16  mark "mirrormap/net", filled up with zeros
//    8  version of this format
//    4  each: inputs, actions, units of both hidden layers, activation (and 2 for Gaussian nets)
//       parameters: the tensors of net.h, floats
//    8  checksum of all that comes before

#include <string.h>

#include "agent/job_hooks.h"
#include "agent/state_bytes.h"

enum { GAUSSIAN = 2 }; // beside the activation

enum { VERSION = 1, SIZES = 5, HEAD_SIZE = MM_STATE_MARK + 8 + 4 * SIZES };

static const unsigned char mark[MM_STATE_MARK] = "mirrormap/net";

static size_t tensor_size(const mm_net *net, int i) {
  mm_net_tensor t = mm_net_describe(net, i);
  return (size_t)t.rows * (size_t)t.cols * sizeof(float);
}

static size_t bytes_of(const mm_net *net, size_t *largest) {
  size_t size = HEAD_SIZE + MM_STATE_CHECKSUM;
  *largest = 0;
  for (int i = 0; i < mm_net_tensors(net); i++) {
    size_t own = tensor_size(net, i);
    size += own;
    if (own > *largest) *largest = own;
  }
  return size;
}

mm_status mm_job_net_save(const mm_net *net, void **out, size_t *size) {
  const mm_net_config *c = mm_net_shape(net);
  const int32_t sizes[SIZES] = { c->n_input, c->n_action, c->hidden[0], c->hidden[1],
                                 (int32_t)c->activation + (c->gaussian ? GAUSSIAN : 0) };
  size_t largest;
  *size = bytes_of(net, &largest);
  unsigned char *bytes = mm_alloc(*size), *to = bytes;
  float *tensor = mm_alloc(largest); // in the bytes they may lie at any address
  *out = bytes && tensor ? bytes : NULL;
  if (*out) {
    uint64_t version = VERSION;
    to = mm_state_put(to, mark, sizeof mark);
    to = mm_state_put(to, &version, sizeof version);
    to = mm_state_put(to, sizes, sizeof sizes);
    for (int i = 0; i < mm_net_tensors(net); i++) {
      mm_net_export(net, MM_NET_PARAM, i, tensor);
      to = mm_state_put(to, tensor, tensor_size(net, i));
    }
    mm_state_seal(bytes, to);
  } else {
    mm_free(bytes);
  }
  mm_free(tensor);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the networks of a training");
}

// Sizes that the bytes cannot have are found out before memory is taken for them.
static mm_status make(const int32_t sizes[SIZES], size_t size, mm_net **out) {
  if (sizes[0] < 1 || sizes[2] < 1 || (size_t)sizes[0] > size || (size_t)sizes[2] > size ||
      (size_t)sizes[0] * (size_t)sizes[2] > size || sizes[4] < 0 ||
      sizes[4] > GAUSSIAN + MM_ACTIVATION_RELU)
    return MM_FAIL(MM_ERR_INPUT, "networks of a training: their sizes do not fit");
  mm_net_config config = { .n_input = sizes[0],
                           .n_action = sizes[1],
                           .hidden = { sizes[2], sizes[3] },
                           .activation = (mm_activation)(sizes[4] % GAUSSIAN),
                           .gaussian = sizes[4] >= GAUSSIAN };
  return mm_net_create(&config, out);
}

mm_status mm_job_net_load(const void *bytes, size_t size, mm_net **out) {
  int32_t sizes[SIZES];
  size_t largest;
  *out = NULL;
  MM_TRY(mm_state_check(bytes, size, "networks of a training", mark, VERSION, HEAD_SIZE));
  const unsigned char *from = (const unsigned char *)bytes + sizeof mark + sizeof(uint64_t);
  from = mm_state_get(from, sizes, sizeof sizes);
  MM_TRY(make(sizes, size, out));
  bool fits = bytes_of(*out, &largest) == size;
  float *tensor = mm_alloc(largest);
  for (int i = 0; i < mm_net_tensors(*out) && fits && tensor; i++) {
    from = mm_state_get(from, tensor, tensor_size(*out, i));
    mm_net_import(*out, MM_NET_PARAM, i, tensor);
  }
  mm_free(tensor);
  if (fits && tensor) return MM_OK;
  mm_net_destroy(*out);
  *out = NULL;
  if (!tensor) return MM_FAIL(MM_ERR_MEMORY, "no memory for the networks of a training");
  return MM_FAIL(MM_ERR_INPUT, "networks of a training: their sizes do not fit");
}

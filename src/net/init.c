// SPDX-License-Identifier: Apache-2.0
// Orthogonal initialisation (docs/ampo.md).
//
// A kernel with in >= out has orthonormal columns, one with in < out orthonormal rows, times the
// gain: the Q of a Gaussian matrix of shape (larger, smaller) = Q R with a positive diagonal of R.
// Gram and Schmidt's process gives exactly that Q; done twice for every vector it is orthogonal to
// rounding. In double precision, in a fixed order.

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/status.h"
#include "net/net_internal.h"

static double product(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum = fma(a[i], b[i], sum);
  return sum;
}

// q[count] become orthonormal; q: [count][n].
static void orthonormalise(double *q, size_t count, size_t n) {
  for (size_t j = 0; j < count; j++) {
    double *v = q + j * n;
    for (int pass = 0; pass < 2; pass++) {
      for (size_t k = 0; k < j; k++) {
        const double *u = q + k * n, along = product(u, v, n);
        for (size_t i = 0; i < n; i++)
          v[i] = fma(-along, u[i], v[i]);
      }
    }
    double length = sqrt(product(v, v, n));
    for (size_t i = 0; i < n; i++)
      v[i] /= length;
  }
}

static mm_status init_kernel(mm_net *net, int tensor, double gain, mm_stream stream) {
  const mm_net_tensor shape = mm_net_describe(net, tensor);
  const size_t in = (size_t)shape.rows, out = (size_t)shape.cols;
  const size_t n = in > out ? in : out, count = in > out ? out : in;
  double *q = mm_alloc_array(n * count, sizeof *q);
  float *w = mm_alloc_array(in * out, sizeof *w);
  mm_status status = MM_OK;
  if (q && w) {
    // number i * count + j of the stream is entry [i][j] of the Gaussian matrix
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < count; j++)
        q[j * n + i] = mm_normal_d(mm_stream_pair(stream, i * count + j));
    orthonormalise(q, count, n);
    for (size_t i = 0; i < in; i++)
      for (size_t j = 0; j < out; j++)
        w[i * out + j] = (float)(gain * (in > out ? q[j * n + i] : q[i * n + j]));
    mm_net_import(net, MM_NET_PARAM, tensor, w);
  } else {
    status = MM_FAIL(MM_ERR_MEMORY, "network: no memory for its first weights");
  }
  mm_free(q);
  mm_free(w);
  return status;
}

mm_status mm_net_init(mm_net *net, uint64_t seed, uint32_t job) {
  static const struct kernel {
    int tensor;
    double gain;
  } kernels[] = {
    { 0, 0x1.6a09e667f3bcdp0 }, { 2, 0x1.6a09e667f3bcdp0 }, { 4, 0.01 },
    { 6, 0x1.6a09e667f3bcdp0 }, { 8, 0x1.6a09e667f3bcdp0 }, { 10, 1 },
  };
  memset(net->param, 0, net->size * sizeof *net->param);
  memset(net->m, 0, net->size * sizeof *net->m);
  memset(net->v, 0, net->size * sizeof *net->v);
  net->count = 0;
  for (size_t i = 0; i < net->n_input && net->config.gaussian; i++) {
    net->input[0][i] = 0;
    net->input[1][i] = 1;
  }
  for (uint32_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    MM_TRY(init_kernel(net, kernels[i].tensor, kernels[i].gain,
                       mm_stream_make(seed, job, MM_RNG_NET_INIT, i)));
  return MM_OK;
}

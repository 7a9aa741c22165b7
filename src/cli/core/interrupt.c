// SPDX-License-Identifier: Apache-2.0
// The handler does no more than a handler may: an atomic flag, and _exit.

#define _POSIX_C_SOURCE 200809L

#include "cli/core/interrupt.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

static volatile int flag;
static volatile int signals;

// A terminal that goes away may say so several times, and nobody is there to insist.
static void note_signal(int number) {
  if (number != SIGHUP && __atomic_exchange_n(&signals, 1, __ATOMIC_RELAXED) != 0)
    _exit(INTERRUPT_EXIT);
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
}

const volatile int *interrupt_watch(void) {
  struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  struct sigaction before;
  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) // as under nohup
    sigaction(SIGHUP, &action, NULL);
  return &flag;
}

// ---------------------------------------------------------------------------------------------

static double deadline = INFINITY;
static bool timed_out;

void interrupt_after(double seconds) {
  deadline = seconds > 0 ? mm_clock_seconds() + seconds : INFINITY;
}

// A signal that came first keeps its meaning.
void interrupt_check_time(void) {
  if (mm_clock_seconds() < deadline) return;
  if (__atomic_exchange_n(&flag, 1, __ATOMIC_RELAXED) == 0) timed_out = true;
}

bool interrupt_timed_out(void) {
  return timed_out;
}

double interrupt_seconds_left(void) {
  return deadline - mm_clock_seconds();
}

const char *interrupt_outcome(mm_status status) {
  if (status == MM_ERR_INTERRUPTED) return timed_out ? "stopped" : "interrupted";
  return status == MM_OK ? "done" : "failed";
}

// The handler does no more than a handler may: an atomic flag, and _exit.

#define _POSIX_C_SOURCE 200809L

#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile int flag;

static void note_signal(int number) {
  (void)number;
  if (__atomic_exchange_n(&flag, 1, __ATOMIC_RELAXED) != 0) _exit(INTERRUPT_EXIT);
}

const volatile int *interrupt_watch(void) {
  struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  return &flag;
}

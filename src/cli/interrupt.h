// Ctrl-C: the first asks the work in hand to stop, a second one ends the program at once.

#ifndef MM_CLI_INTERRUPT_H
#define MM_CLI_INTERRUPT_H

// What an interrupted program returns: as shells report it for SIGINT.
enum { INTERRUPT_EXIT = 130 };

// From now on SIGINT sets the flag that this returns; hand it to whatever takes a `stop`. The
// command then ends by itself with INTERRUPT_EXIT.
const volatile int *interrupt_watch(void);

#endif

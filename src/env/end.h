// How a step can end an episode. [host/device]
//
// Every step function returns these bits. They are independent: a goal reached on the last step
// allowed sets both. What follows an end is the caller's choice; no environment resets itself.

#ifndef MM_ENV_END_H
#define MM_ENV_END_H

enum {
  MM_END_TERMINATED = 1, // the new state is terminal
  MM_END_TRUNCATED = 2   // the step limit is reached
};

#endif

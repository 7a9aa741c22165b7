// The whole public interface. To read it, begin with base.h, then map.h, env.h, render.h, agent.h,
// backend.h, policy.h, evolve.h, study.h.

#ifndef MIRRORMAP_MIRRORMAP_H
#define MIRRORMAP_MIRRORMAP_H

#include "mirrormap/agent.h"
#include "mirrormap/backend.h"
#include "mirrormap/base.h"
#include "mirrormap/env.h"
#include "mirrormap/evolve.h"
#include "mirrormap/map.h"
#include "mirrormap/policy.h"
#include "mirrormap/render.h"
#include "mirrormap/study.h"

#endif

// SPDX-License-Identifier: Apache-2.0
// The whole public interface. To read it, begin with base.h, then map.h, env.h, render.h, agent.h,
// backend.h, policy.h, evolve.h, run.h, settings.h, stats.h, study.h, result.h, reproduce.h,
// theory.h; for environments and maps of your own plugin.h.

#ifndef MIRRORMAP_MIRRORMAP_H
#define MIRRORMAP_MIRRORMAP_H

#include "mirrormap/agent.h"
#include "mirrormap/backend.h"
#include "mirrormap/base.h"
#include "mirrormap/env.h"
#include "mirrormap/evolve.h"
#include "mirrormap/map.h"
#include "mirrormap/plugin.h"
#include "mirrormap/policy.h"
#include "mirrormap/render.h"
#include "mirrormap/reproduce.h"
#include "mirrormap/result.h"
#include "mirrormap/run.h"
#include "mirrormap/settings.h"
#include "mirrormap/stats.h"
#include "mirrormap/study.h"
#include "mirrormap/theory.h"

#endif

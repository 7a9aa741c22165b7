// The whole public interface, in reading order.

#ifndef MIRRORMAP_MIRRORMAP_H
#define MIRRORMAP_MIRRORMAP_H

#include "mirrormap/base.h"
#include "mirrormap/map.h"

#endif

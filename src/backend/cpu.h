// SPDX-License-Identifier: Apache-2.0
// The backend `cpu`.

#ifndef MM_BACKEND_CPU_H
#define MM_BACKEND_CPU_H

#include "backend/job_list.h"

mm_status mm_cpu_run(mm_job_list *list);

#endif

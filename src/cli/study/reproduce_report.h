// What `reproduce` prints of an artefact.

#ifndef MM_CLI_REPRODUCE_REPORT_H
#define MM_CLI_REPRODUCE_REPORT_H

#include "paper/artefact.h"

void reproduce_report(const mm_artefact *result);

#endif

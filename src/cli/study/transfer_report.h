// The table of maps and environments for people.

#ifndef MM_CLI_TRANSFER_REPORT_H
#define MM_CLI_TRANSFER_REPORT_H

#include "study/transfer/transfer.h"

void transfer_report(const mm_transfer *transfer);

#endif

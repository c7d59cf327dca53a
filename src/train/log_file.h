/* A text file that a log is appended to: written in blocks, a failure told once. */
#ifndef KNI_TRAIN_LOG_FILE_H
#define KNI_TRAIN_LOG_FILE_H

#include "support/buffer.h"
#include <kn/train/renderer.h>

typedef struct kni_log_file {
    char *path;
    int descriptor; /* -1: closed, or given up */
    bool used;      /* a run of this logger's has written to the file */
    kni_buffer text;
    double written; /* when, on the monotonic clock */
} kni_log_file;

/* Opens or makes the file and its folder. function: for messages. */
kn_status kni_log_open(kni_log_file *log, const char *path, const char *function);
/* At the start of a run: an earlier file is moved to PATH.old, unless the run goes on from a step above 0 or it is not this
   logger's first. *empty: nothing is in the file. */
kn_status kni_log_start(kni_log_file *log, const kn_run_info *info, bool *empty);
/* Writes what is in log->text when it is much or old, or at once. */
void kni_log_flush(kni_log_file *log, bool at_once);
void kni_log_close(kni_log_file *log);

#endif

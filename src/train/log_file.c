/* Files of logs. A log never ends a run: the first failed write is told to the user, the rest is dropped. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "train/log_file.h"
#include "support/failure.h"
#include "support/file.h"
#include "train/render_format.h"
#include "train/render_guard.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };
static const double block_seconds = 2;

static kn_status make_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return KN_OK;
    char *folder = strndup(path, (size_t)(slash - path));
    if (!folder) return kni_failure_memory("opening a log");
    kn_status status = kni_file_is_folder(folder) ? KN_OK : kni_folder_make(folder);
    free(folder);
    return status;
}

static kn_status open_file(kni_log_file *log, int flags)
{
    log->descriptor = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0666);
    if (log->descriptor >= 0) return KN_OK;
    return kni_failure(KN_ERROR_IO, "cannot write the log '%s': %s", log->path, strerror(errno));
}

kn_status kni_log_open(kni_log_file *log, const char *path, const char *function)
{
    *log = (kni_log_file){.descriptor = -1};
    if (!path || !*path) return kni_failure(KN_ERROR_ARGUMENT, "%s: the path is empty", function);
    log->path = strdup(path);
    if (!log->path) return kni_failure_memory(function);
    kn_status status = make_folder_of(path);
    return status ? status : open_file(log, 0);
}

static bool is_empty(const kni_log_file *log)
{
    struct stat about;
    return fstat(log->descriptor, &about) != 0 || about.st_size == 0;
}

kn_status kni_log_start(kni_log_file *log, const kn_run_info *info, bool *empty)
{
    *empty = true;
    kni_buffer_clear(&log->text);
    if (log->descriptor < 0) return open_file(log, 0);
    *empty = is_empty(log);
    bool fresh = info->step <= 0 && !log->used;
    /* A pass over the test data with the weights of an earlier run belongs to that run. */
    log->used = log->used || !info->evaluates || info->step <= 0;
    if (!fresh || *empty) return KN_OK;
    kni_buffer old = {0};
    kni_buffer_format(&old, "%s.old", log->path);
    bool moved = !old.failed && rename(log->path, old.data) == 0;
    kni_buffer_free(&old);
    close(log->descriptor);
    *empty = true;
    return open_file(log, moved ? 0 : O_TRUNC);
}

static void give_up(kni_log_file *log, const char *why)
{
    kni_buffer text = {0};
    kni_buffer_format(&text, "the log '%s' cannot be written: %s; the run goes on without it", log->path,
                      why);
    if (!text.failed) kni_notice(text.data);
    kni_buffer_free(&text);
    close(log->descriptor);
    log->descriptor = -1;
}

void kni_log_flush(kni_log_file *log, bool at_once)
{
    if (log->descriptor < 0) {
        kni_buffer_clear(&log->text);
        return;
    }
    if (!log->text.failed && !at_once && log->text.length < BLOCK &&
        kni_monotonic_clock() - log->written < block_seconds)
        return;
    const char *data = kni_buffer_string(&log->text);
    size_t left = log->text.length;
    while (left > 0) {
        ssize_t done = write(log->descriptor, data, left);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            give_up(log, done < 0 ? strerror(errno) : "no room");
            break;
        }
        data += done;
        left -= (size_t)done;
    }
    if (log->text.failed && log->descriptor >= 0) give_up(log, "out of memory");
    kni_buffer_clear(&log->text);
    log->written = kni_monotonic_clock();
}

void kni_log_close(kni_log_file *log)
{
    if (log->descriptor >= 0) {
        kni_log_flush(log, true);
        if (log->descriptor >= 0) close(log->descriptor);
    }
    kni_buffer_free(&log->text);
    free(log->path);
    *log = (kni_log_file){.descriptor = -1};
}

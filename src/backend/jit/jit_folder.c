/* Folders of compilers. A mark inside says that Kiln made the folder; a lock on the mark says that its process is alive, and
   the system drops that lock when the process dies, however it dies. */
#define _GNU_SOURCE
#include "backend/jit/jit_folder.h"
#include "core/platform.h"
#include "support/file.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "kiln-cc-", mark_name[] = "kiln-mark", mark_text[] = "kiln compiles here\n";

const char *kni_jit_folder_base(void)
{
    const char *base = kni_environment("TMPDIR");
    return base && *base ? base : "/tmp";
}

/* Opens a mark of a dead process in the folder and locks it; -1 when there is none or its process is alive. */
static int lock_stale(const char *path)
{
    char text[sizeof mark_text];
    struct stat about;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return -1;
    bool ours = fstat(folder, &about) == 0 && about.st_uid == geteuid();
    int mark = ours ? openat(folder, mark_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    close(folder);
    if (mark < 0) return -1;
    /* The mark is written under the lock, so an empty one belongs to a folder in the making. */
    if (flock(mark, LOCK_EX | LOCK_NB) == 0 && fstat(mark, &about) == 0 && S_ISREG(about.st_mode) &&
        read(mark, text, sizeof text) == (ssize_t)strlen(mark_text) &&
        !memcmp(text, mark_text, strlen(mark_text)))
        return mark;
    close(mark);
    return -1;
}

static void sweep(const char *base)
{
    kni_folder names;
    if (kni_folder_read(&names, base) != KN_OK) return;
    for (int64_t i = 0; i < names.count; i++) {
        if (strncmp(names.names[i], prefix, strlen(prefix))) continue;
        char *path = kni_path_join(base, names.names[i]);
        int mark = path ? lock_stale(path) : -1;
        if (mark >= 0) {
            (void)kni_path_remove(path);
            close(mark);
        }
        free(path);
    }
    kni_folder_free(&names);
}

static int write_mark(const char *path)
{
    char *name = kni_path_join(path, mark_name);
    int mark = name ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    free(name);
    if (mark < 0) return -1;
    size_t bytes = strlen(mark_text);
    if (flock(mark, LOCK_EX) == 0 && write(mark, mark_text, bytes) == (ssize_t)bytes) return mark;
    close(mark);
    return -1;
}

void kni_jit_folder_make(kni_jit_folder *folder)
{
    static atomic_flag swept = ATOMIC_FLAG_INIT;
    const char *base = kni_jit_folder_base();
    if (!atomic_flag_test_and_set(&swept)) sweep(base);
    folder->path = kni_path_join(base, "kiln-cc-XXXXXX");
    folder->lock = -1;
    if (folder->path && mkdtemp(folder->path)) {
        folder->lock = write_mark(folder->path);
        if (folder->lock >= 0) return;
        (void)kni_path_remove(folder->path);
    }
    free(folder->path);
    folder->path = NULL;
}

void kni_jit_folder_leave(kni_jit_folder *folder)
{
    if (!folder->path) return;
    close(folder->lock);
    free(folder->path);
    folder->path = NULL;
}

void kni_jit_folder_remove(kni_jit_folder *folder)
{
    if (folder->path) (void)kni_path_remove(folder->path);
    kni_jit_folder_leave(folder);
}

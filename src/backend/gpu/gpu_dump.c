/* KN_KERNEL_FOLDER: every kernel that is compiled is also written there, for people and for the validators of its language. */
#include "backend/gpu/gpu.h"
#include "core/platform.h"
#include "core/text.h"
#include "ir/emitter.h"
#include "support/file.h"

/* Nothing depends on it: what cannot be written is left out. */
void kni_gpu_dump(const kni_gpu *g, const char *name, const char *text, size_t bytes)
{
    const char *folder = kni_environment("KN_KERNEL_FOLDER");
    char path[1024];
    if (!folder || !*folder) return;
    kni_text t = {path, sizeof path, 0};
    kni_text_format(&t, "%s/%s-%u-%u.%s", folder, name, (unsigned)(kni_gpu_hash(text, bytes) >> 32),
                    (unsigned)kni_gpu_hash(text, bytes), kni_dialect_of(g->driver->caps.dialect)->ending);
    if (t.length + 1 < sizeof path) (void)kni_file_write(path, text, bytes);
}

/* Settings in files. */
#include "core/objects.h"
#include "nn/settings.h"
#include "support/failure.h"
#include "support/file.h"

enum { LARGEST_FILE = 64 << 20 };

kn_status kn_config_load(void *config, const kn_module_type *type, const char *path)
{
    KNI_NAMED;
    kni_buffer text = {0};
    if (!path) return kni_failure(KN_ERROR_ARGUMENT, "kn_config_load: the path is NULL");
    kn_status s = kni_file_read(path, LARGEST_FILE, &text);
    if (s == KN_OK) s = kni_config_read(config, type, kni_buffer_string(&text), text.length, path);
    kni_buffer_free(&text);
    return s;
}

kn_status kn_config_save(const void *config, const kn_module_type *type, const char *path)
{
    KNI_NAMED;
    kni_buffer out = {0};
    if (!path) return kni_failure(KN_ERROR_ARGUMENT, "kn_config_save: the path is NULL");
    kn_status s = kni_config_write(&out, config, type);
    if (s == KN_OK) s = kni_file_write(path, out.data, out.length);
    kni_buffer_free(&out);
    return s;
}

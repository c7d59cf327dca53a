/* Settings: the INT, REAL, BOOL, ENUM, INTS and TEXT fields of a struct as text. */
#ifndef KNI_NN_SETTINGS_H
#define KNI_NN_SETTINGS_H

#include "support/buffer.h"
#include <kn/nn/module.h>

bool kni_is_setting(const kn_field *field);
/* Appends the value; names and texts in quotes and numbers that are not finite as texts when json. */
void kni_setting_write(kni_buffer *out, const kn_field *field, const void *address, bool json);

/* The whole of a config as JSON. */
kn_status kni_config_write(kni_buffer *out, const void *config, const kn_module_type *type);
/* name: of the file, for messages. */
kn_status kni_config_read(void *config, const kn_module_type *type, const char *json, size_t length,
                          const char *name);

#endif

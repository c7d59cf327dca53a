/* Rules for names: which paths take part, and how names are rewritten. */
#ifndef KNI_STORE_NAME_RULES_H
#define KNI_STORE_NAME_RULES_H

#include "support/buffer.h"
#include <kn/store.h>
#include <regex.h>

typedef struct kni_name_rules {
    regex_t include, exclude;
    bool has_include, has_exclude;
    regex_t *renames;
    const kn_rename *replacements;
    int32_t rename_count;
} kni_name_rules;

/* Compiles the patterns (each may be NULL); an error names the one that is wrong. Free also after a failure. */
kn_status kni_name_rules_make(kni_name_rules *rules, const char *function, const char *include,
                              const char *exclude, const kn_rename *renames);
void kni_name_rules_free(kni_name_rules *rules);
bool kni_name_rules_take(const kni_name_rules *rules, const char *path);
/* The name after all renames, in out. */
kn_status kni_name_rules_rename(const kni_name_rules *rules, const char *name, kni_buffer *out);

/* Makes the numbers in names contiguous: among names that agree before it, 0, 2, 5 become 0, 1, 2. Replaces the strings. */
kn_status kni_names_renumber(char **names, int64_t count);

#endif

/* What `kiln conform` runs under a name that is no row of the op table: a public function with its attributes read
   from a case. Each family has a file conform_adapters_<family>.c and a line in conform_adapter_list.c. */
#ifndef KILN_CONFORM_ADAPTER_H
#define KILN_CONFORM_ADAPTER_H

#include <kn.h>

enum { KILN_MAX_OUTPUTS = 32, KILN_MAX_INPUTS = 32, KILN_MAX_ATTRIBUTES = 24 };

typedef enum kiln_attribute_type { KILN_INT, KILN_REAL, KILN_INTS, KILN_TEXT } kiln_attribute_type;

typedef struct kiln_attribute {
    char name[32], text[64];
    uint8_t type;
    int64_t integer;
    double real;
    kn_ints list;
} kiln_attribute;

typedef struct kiln_attributes {
    int n;
    kiln_attribute item[KILN_MAX_ATTRIBUTES];
} kiln_attributes;

/* An attribute by name, or the default where the case has none. */
int64_t kiln_int(const kiln_attributes *a, const char *name, int64_t otherwise);
double kiln_real(const kiln_attributes *a, const char *name, double otherwise);
kn_ints kiln_ints(const kiln_attributes *a, const char *name); /* empty (KN_AXES_ALL) where there is none */
const char *kiln_text(const kiln_attributes *a, const char *name, const char *otherwise);
bool kiln_has(const kiln_attributes *a, const char *name);

/* Runs the function on n kept operands (KN_NONE where one is absent), fills out and returns how many outputs there
   are, at most `room`. A failure is a poisoned out[0] (kn_poison with kn_last_error() after a kn_status). */
typedef int (*kiln_adapter_fn)(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out,
                               int room);

typedef struct kiln_adapter {
    const char *name;
    kiln_adapter_fn run;
} kiln_adapter;

/* For functions that answer a status: count outputs when it is KN_OK, else out[0] poisoned with the failure. */
int kiln_outputs(kn_status status, kn_tensor *out, int count);

/* The adapter called name, or NULL. */
const kiln_adapter *kiln_adapter_find(const char *name);

#endif

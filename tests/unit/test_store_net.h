/* The module and the folder that the tests of the store share. */
#ifndef TEST_STORE_NET_H
#define TEST_STORE_NET_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "support/check.h"
#include "support/file.h"
#include <kn/nn/linear.h>
#include <kn/nn/normalization.h>
#include <kn/store.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Net {
    kn_nn_linear fc1;
    kn_nn_batch_norm norm;
    kn_nn_linear fc2;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, fc1, kn_nn_linear),
                                                           KN_MODULE(Net, norm, kn_nn_batch_norm),
                                                           KN_MODULE(Net, fc2, kn_nn_linear),
                                                           {0}}};

static inline void net_make(Net *net)
{
    memset(net, 0, sizeof *net);
    CHECK(kn_nn_linear_init(&net->fc1, 3, 4, NULL) == KN_OK);
    CHECK(kn_nn_batch_norm_init(&net->norm, 4, NULL) == KN_OK);
    CHECK(kn_nn_linear_init(&net->fc2, 4, 2, NULL) == KN_OK);
}

static inline void net_drop(Net *net) { kn_module_drop(KN_MODULE_OF(Net, net)); }

/* The values that make_files.py gives: 0, 1, 2 ... from 10 times the param's number on. */
static inline bool net_is_filled(const Net *net)
{
    const kn_param params[] = {net->fc1.weight,
                               net->fc1.bias,
                               net->norm.weight,
                               net->norm.bias,
                               net->norm.running_mean,
                               net->norm.running_var,
                               net->norm.num_batches_tracked,
                               net->fc2.weight,
                               net->fc2.bias};
    for (int k = 0; k < 9; k++) {
        double values[64];
        int64_t n = kn_count(kn_value(params[k]));
        if (kn_read_as(kn_value(params[k]), KN_F64, values, (size_t)n * sizeof *values) != KN_OK)
            return false;
        for (int i = 0; i < n; i++)
            if (values[i] != i % 50 + 10 * k) return false;
    }
    return true;
}

/* A fresh folder for the test's files; the path of one in it. */
static char test_folder[256];

static inline void folder_make(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(test_folder, sizeof test_folder, "%s/kiln_store_XXXXXX", base ? base : P_tmpdir);
    CHECK(mkdtemp(test_folder) != NULL);
}

static inline const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", test_folder, name);
    return paths[next];
}

static inline void folder_remove(void) { CHECK(kni_path_remove(test_folder) == KN_OK); }

static inline kni_buffer content_of(const char *path)
{
    kni_buffer content = {0};
    CHECK(kni_file_read(path, 0, &content) == KN_OK);
    return content;
}

static inline bool same_content(const kni_buffer *a, const kni_buffer *b)
{
    return a->length == b->length && a->length && !memcmp(a->data, b->data, a->length);
}

#endif

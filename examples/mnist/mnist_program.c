/* Traces the network once, on the first batch, and saves what was traced with its weights. */
#include "mnist_program.h"
#include <kn.h>
#include <kn/program.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>

/* Everything that the loader gives, as two tensors. */
static bool collect(kn_loader test, kn_tensor *images, kn_tensor *labels)
{
    int64_t n = kn_loader_length(test), got = 0;
    kn_sample *batches = calloc((size_t)n + 1, sizeof *batches);
    kn_tensor *parts = calloc(2 * (size_t)n + 1, sizeof *parts);
    bool good = batches && parts && kn_loader_epoch(test, 0) == KN_OK;
    for (; good && got < n; got++) {
        good = kn_loader_next(test, &batches[got]) == KN_OK;
        parts[got] = batches[got].fields[0];
        parts[n + got] = batches[got].fields[1];
    }
    if (good) {
        *images = kn_keep(kn_concat(parts, (int32_t)n, 0));
        *labels = kn_keep(kn_concat(parts + n, (int32_t)n, 0));
        good = kn_ok(*images) && kn_ok(*labels);
    }
    for (int64_t i = 0; i < got; i++) kn_sample_drop(&batches[i]);
    free(batches);
    free(parts);
    return good;
}

static bool write_array(const char *folder, const char *name, kn_tensor t)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    kn_state state = kn_state_make();
    bool good = state && kn_state_put(state, "", name, t) == KN_OK &&
                kn_state_write(state, path, KN_STORE_NUMPY) == KN_OK;
    kn_state_free(state);
    return good;
}

/* The ops of one forward pass. A trace has the sizes that it was made with, so a run takes batches of this one's size. */
static kn_program trace(const MnistModel *model, const MnistNet *net, kn_tensor images)
{
    if (kn_program_begin(NULL)) return NULL;
    kn_tensor scores = kn_keep(model->forward(net, images));
    return kn_program_end(&images, 1, &scores, 1);
}

bool save_program(const MnistModel *model, MnistNet *net, kn_loader test, const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/program.safetensors", folder);
    kn_module module = {net, model->type};
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_module_train(module, false); /* without dropout */
    kn_tensor images = KN_NONE, labels = KN_NONE;
    bool good = collect(test, &images, &labels);
    int64_t rows = good ? kn_loader_samples(test) / kn_loader_length(test) : 0;
    kn_program p = good ? trace(model, net, kn_keep(kn_narrow(images, 0, 0, rows))) : NULL;
    good = p && kn_program_save(p, path,
                                &(kn_program_save_args){.inputs = (const char *[]){"images"},
                                                        .outputs = (const char *[]){"scores"},
                                                        .module = module}) == KN_OK;
    kn_program_free(p);
    good = good && write_array(folder, "images", images) && write_array(folder, "labels", labels);
    if (good)
        printf("kiln run %s --input images=%s/images.npy --batch %lld --labels scores=%s/labels.npy\n", path,
               folder, (long long)rows, folder);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    return good;
}

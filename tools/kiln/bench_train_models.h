/* The models that `kiln bench` trains beside PyTorch; bench/train/train_torch.py has the same. */
#ifndef BENCH_TRAIN_MODELS_H
#define BENCH_TRAIN_MODELS_H

#include <kn.h>
#include <kn/nn.h>

typedef struct bench_model {
    const char *name, *text;
    int batch;
    const kn_module_type *type;
    kn_status (*init)(void *self);
    kn_tensor (*forward)(const void *self, kn_tensor x); /* x [batch, 1, 28, 28] to logits */
} bench_model;

/* NULL for a name that is none. */
const bench_model *bench_model_named(const char *name);
/* Memory that any of the models fits into. */
void *bench_model_make(const bench_model *model);

#endif

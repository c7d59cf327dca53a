/* All models, in the order of the tables. */
#include "bench_models.h"
#include <string.h>

#define MODELS(X)                                                                                            \
    X(lenet)                                                                                                 \
    X(resnet18)                                                                                              \
    X(resnet50)                                                                                              \
    X(vgg16) X(mobilenet) X(efficientnet) X(convnext) X(unet) X(dcgan) X(temporal) X(volume) X(vit) X(bert)  \
        X(t5) X(gpt2) X(llama) X(lstm) X(gru) X(mlp) X(dlrm)

#define DECLARE(name) extern const bench_model bench_##name;
MODELS(DECLARE)

#define LIST(name) &bench_##name,
static const bench_model *const models[] = {MODELS(LIST)};

const bench_model *bench_model_at(int i)
{
    return i >= 0 && i < (int)(sizeof models / sizeof *models) ? models[i] : NULL;
}

const bench_model *bench_model_named(const char *name)
{
    for (int i = 0; bench_model_at(i); i++)
        if (!strcmp(bench_model_at(i)->name, name)) return bench_model_at(i);
    return NULL;
}

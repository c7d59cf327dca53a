/* All models, in the order of the tables. */
#include "bench_models.h"
#include <string.h>

extern const bench_model bench_lenet, bench_resnet18, bench_resnet50, bench_vgg16, bench_mobilenet,
    bench_efficientnet, bench_convnext, bench_unet, bench_dcgan, bench_temporal, bench_volume, bench_vit,
    bench_bert, bench_t5, bench_gpt2, bench_llama, bench_lstm, bench_gru, bench_mlp, bench_dlrm;

static const bench_model *const models[] = {
    &bench_lenet,        &bench_resnet18, &bench_resnet50, &bench_vgg16, &bench_mobilenet,
    &bench_efficientnet, &bench_convnext, &bench_unet,     &bench_dcgan, &bench_temporal,
    &bench_volume,       &bench_vit,      &bench_bert,     &bench_t5,    &bench_gpt2,
    &bench_llama,        &bench_lstm,     &bench_gru,      &bench_mlp,   &bench_dlrm};

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

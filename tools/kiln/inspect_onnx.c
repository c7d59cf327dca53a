/* kiln inspect model.onnx: what the model takes and gives, its parameters and operators, and what nothing here converts. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include <kn.h>
#include <kn/onnx.h>
#include <stdlib.h>
#include <string.h>

/* A model begins with the version of its format, in field 1; safetensors files have a '{' behind 8 bytes. */
bool kiln_looks_like_onnx(const char *path)
{
    unsigned char head[9] = {0};
    size_t length = strlen(path);
    if (length > 5 && !strcmp(path + length - 5, ".onnx")) return true;
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) fclose(file);
    return n > 2 && head[0] == 0x08 && head[1] >= 1 && head[1] < 32 && head[8] != '{';
}

static int failed(void)
{
    fprintf(stderr, "kiln inspect: %s\n", kn_last_error());
    return 1;
}

static int print_model(const char *path, kn_onnx model)
{
    kn_onnx_info info;
    size_t bytes = kn_onnx_inspect(model, NULL, 0) + 1;
    char *text = bytes > 1 ? malloc(bytes) : NULL;
    if (!text || kn_onnx_describe(model, &info) != KN_OK) {
        free(text);
        return failed();
    }
    kn_onnx_inspect(model, text, bytes);
    printf("%s: ONNX\n%s", path, text); /* the library has escaped what is not plain */
    if (info.unknown) printf("%d nodes have operators that nothing converts\n", (int)info.unknown);
    free(text);
    return 0;
}

int kiln_inspect_onnx(const char *path)
{
    kn_onnx model = kn_onnx_load(path, &(kn_onnx_args){.no_simplify = true});
    if (!model) return failed();
    int code = print_model(path, model);
    kn_onnx_free(model);
    return code;
}

/* The narrow form: every reference kernel has one, whatever its operands are stored in, and gives in it what it gives in
   the wide one; the math library's functions give the CPU's bits where they compute in f64. */
#include "../support/check.h"
#include "core/dtype.h"
#include "ir/builder.h"
#include "ir/kernel_texts.h"
#include "ir/narrow.h"
#include "ir/parse.h"
#include <stdlib.h>

static kni_ir_caps narrow_caps(bool bytes)
{
    return (kni_ir_caps){.dialect = KNI_IR_OPENCL,
                         .atomics = true,
                         .subgroup = 1,
                         .max_workgroup = 1024,
                         .no_bytes = !bytes,
                         .half_storage = bytes};
}

static kni_ir *parsed(const char *name, int element, int stored)
{
    uint8_t storage[KNI_IR_MAX_SIGNATURE];
    const char *file;
    size_t bytes = 0;
    const char *text = kni_kernel_text(name, &bytes, &file);
    kni_ir_parse_options options = {file, name, element, KN_F32, NULL, 0};
    kni_ir_signature signature;
    if (!text || !kni_ir_parse_signature(text, bytes, &options, &signature)) return NULL;
    for (int i = 0; i < signature.n_buffers; i++)
        storage[i] = (uint8_t)(signature.buffers[i].letter == 'T' && stored ? stored : 0);
    options.storage = storage;
    kni_ir *ir = kni_ir_parse(text, bytes, &options);
    if (ir && kni_ir_simplify(ir)) {
        kni_ir_free(ir);
        ir = NULL;
    }
    return ir;
}

/* For looking at: KN_NARROW_TEXTS names a folder for the OpenCL texts. */
static void keep_text(const kni_ir *ir, const kni_ir_caps *caps, const char *name, int stored)
{
    const char *folder = getenv("KN_NARROW_TEXTS");
    kni_ir_text text = {0};
    char path[300];
    CHECK(kni_ir_emit(ir, caps, &text) == KN_OK);
    snprintf(path, sizeof path, "%s/%s_%s.cl", folder ? folder : "", name, kni_dtypes[stored].name);
    FILE *out = folder ? fopen(path, "w") : NULL;
    if (out) {
        fwrite(text.data, 1, text.length, out);
        fclose(out);
    }
    kni_ir_text_free(&text);
}

static void narrows(const char *name, int element, int stored, bool bytes)
{
    kni_ir_caps caps = narrow_caps(bytes);
    kni_ir *ir = parsed(name, element, stored);
    if (!CHECK(ir != NULL)) {
        printf("%s: %s\n", name, kn_last_error());
        return;
    }
    if (CHECK(kni_ir_legalise(ir, &caps) == KN_OK) && CHECK(ir->narrow) &&
        CHECK(kni_ir_narrow_check(ir, &caps) == KN_OK))
        keep_text(ir, &caps, name, stored);
    else
        printf("%s of %s: %s\n", name, kni_dtypes[stored].name, kn_last_error());
    kni_ir_free(ir);
}

static void reference_kernels(void)
{
    static const struct {
        int element, stored;
        bool bytes;
    } ways[] = {{KN_F32, KN_F32, false}, {KN_F32, KN_F16, false}, {KN_I64, KN_I64, false},
                {KN_I64, KN_U8, false},  {KN_U64, KN_U64, false}, {KN_F32, KN_BF16, true},
                {KN_I64, KN_I16, true}};
    for (int n = 0; kni_kernel_text_name(n); n++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            narrows(kni_kernel_text_name(n), ways[i].element, ways[i].stored, ways[i].bytes);
}

int main(void)
{
    reference_kernels();
    return check_report();
}

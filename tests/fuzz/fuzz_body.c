/* Fuzzes the parser of bodies; what it accepts is differentiated, made a program of lines and evaluated, or makes values of scalars. The first byte chooses
   what the body may name. */
#include "backend/cpu/line_program.h"
#include "core/allocator.h"
#include "fuzz.h"
#include "ops/body_derive.h"
#include "ops/body_lines.h"
#include "ops/body_parse.h"
#include <string.h>

static void differentiate(const kni_body *body)
{
    static kni_body_gradient first, second;
    for (int i = 0; i < body->n_in; i++) {
        kni_step steps[KNI_BODY_MAX_STEPS];
        uint8_t numbers[2 * KNI_BODY_OPERANDS], bits[2 * KNI_BODY_OPERANDS];
        if (!kni_body_derive(body, i, i % 2, &first) || first.root < 0) continue;
        for (int k = 0; k < 2 * KNI_BODY_OPERANDS; k++) numbers[k] = (uint8_t)k;
        int n = kni_graph_steps(&first.graph, first.root, numbers, steps, KNI_BODY_MAX_STEPS);
        int n_in = body->n_in + body->n_out;
        if (!n || n_in >= 2 * KNI_BODY_OPERANDS) continue;
        for (int k = 0; k < n_in; k++) bits[k] = body->operands[k];
        bits[n_in] = (uint8_t)first.level;
        kni_body gradient = {
            .steps = steps, .operands = bits, .n = (uint8_t)n, .n_in = (uint8_t)n_in, .n_out = 1};
        if (n_in <= KNI_BODY_OPERANDS) (void)kni_body_derive(&gradient, 0, false, &second);
    }
}

static void compile_lines(const kni_body *body)
{
    const char *why;
    kni_line_program *p = kni_line_compile(body, &why);
    if (p) kni_line_bind(p);
    if (p) kni_free(p, p->bytes);
}

static void evaluate(const kni_body *body)
{
    double in[4] = {0.5, -1, 3, 0}, out[4], scalars[4] = {1, 2, 0, -1};
    const void *operands[KNI_BODY_OPERANDS];
    for (int i = 0; i < KNI_BODY_OPERANDS; i++) operands[i] = in;
    for (int i = 0; i < body->n; i++)
        if (kni_body_step(body, i).kind == KNI_STEP_EXPN) return; /* kn_op_define makes it exp */
    kni_body_evaluate(body, KNI_COMPUTE_F64, 4, out, operands, 0, scalars);
}

/* Bodies that make values of scalars, by the interpreter. */
static void make_values(const kni_body *body)
{
    static const kn_attribute schema[] = {{"key", KNI_ATTR_INT, KNI_DYNAMIC, 0},
                                          {"counter", KNI_ATTR_INT, KNI_DYNAMIC, 8},
                                          {"eps", KNI_ATTR_REAL, KNI_DYNAMIC, 16},
                                          {0}};
    static const struct {
        int64_t key, counter;
        double eps;
    } attributes = {-3, INT64_MAX, 2.5};
    enum { N = 5 };
    const double x[N] = {0.5, -1, 3, 0, 1e300};
    const void *in[KNI_BODY_OPERANDS] = {x};
    kni_body drawing = *body;
    drawing.draws[0] = drawing.draws[1] = 4;
    const kn_op row = {.name = "fuzzed", .schema = schema, .body = &drawing};
    const kni_type shape = {.dtype = KN_F64, .rank = 1, .dims = {N}};
    for (int wide = KNI_COMPUTE_F64; wide <= KNI_COMPUTE_I64; wide += KNI_COMPUTE_I64 - KNI_COMPUTE_F64) {
        double y[N];
        void *out[KNI_BODY_OPERANDS] = {y};
        kni_body_lines run = {.row = &row,
                              .attributes = &attributes,
                              .wide = wide,
                              .shape = &shape,
                              .apart = true,
                              .choices = kni_body_dtype_choices(wide == KNI_COMPUTE_F64 ? KN_F64 : KN_I64),
                              .in = in,
                              .out = out};
        (void)kni_body_lines_run(&run);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const in[] = {"x", "x w b", "x w@place?1 l@line?0", "x a@all p@place l@line"};
    static const char *const out[] = {"y", "y s@line", "y p2@place", "y@line"};
    static char text[4096];
    if (bytes < 1 || bytes >= sizeof text) return 0;
    int choice = data[0];
    bool lines = choice & 1, makes = !lines && choice & 16;
    kni_body_names names = {.in = in[lines ? choice >> 1 & 3 : choice >> 1 & 1],
                            .out = lines ? out[choice >> 3 & 3] : "y",
                            .scalars = {"eps", "beta"},
                            .n_scalars = 2,
                            .truth = !lines && choice & 8,
                            .lines = lines};
    if (makes)
        names = (kni_body_names){.in = "x",
                                 .out = "y",
                                 .scalars = {"key", "counter", "eps"},
                                 .n_scalars = 3,
                                 .whole = 3,
                                 .makes = true};
    memcpy(text, data + 1, bytes - 1);
    text[bytes - 1] = 0;
    kni_body_draft draft;
    if (!kni_body_parse(text, &names, &draft)) return 0;
    kni_body body = kni_body_of_draft(&draft);
    if (makes) {
        make_values(&body);
        return 0;
    }
    if (!names.truth) differentiate(&body);
    if (lines)
        compile_lines(&body);
    else
        evaluate(&body);
    return 0;
}

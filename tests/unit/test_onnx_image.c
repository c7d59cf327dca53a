/* Operators of images and indices in ONNX models, in the forms that the standard's own tests leave out: old versions, lists that are left
   out, sizes that are known only when the model runs, and what is refused. */
#include "support/onnx_text.h"
#include "test_onnx_models.h"
#include "test_onnx_open_sizes.h"
#include <kn/program.h>

enum { MOST_RESULTS = 4, MOST_ELEMENTS = 64 };

/* A model over constants and, for each result, its sizes and elements: "[2,2] 1 2 3 4; [] 5". "! words": of the error. */
typedef struct row {
    int version;
    const char *text, *expected;
} row;

static const char *compare(const row *r, const char *at, kn_tensor got)
{
    int64_t n = 1;
    int rank = 0, before = check_failed;
    double values[MOST_ELEMENTS];
    while (*at == ' ') at++;
    for (at++; *at && *at != ']'; rank++) {
        int64_t size = strtoll(at, (char **)(uintptr_t)&at, 10);
        CHECK(kn_ok(got) && rank < kn_rank(got) && kn_size(got, rank) == size);
        n *= size;
        if (*at == ',') at++;
    }
    at += *at == ']';
    for (int64_t i = 0; i < n && i < MOST_ELEMENTS; i++) values[i] = strtod(at, (char **)(uintptr_t)&at);
    if (CHECK(kn_ok(got) && kn_rank(got) == rank) && n)
        check_values(got, values, (int)n, 1e-5, __FILE__, __LINE__);
    if (check_failed > before) printf("  version %d, %s\n", r->version, r->text);
    while (*at == ' ') at++;
    return *at == ';' ? at + 1 : at;
}

static void run_row(const row *r)
{
    kn_tensor out[MOST_RESULTS];
    kn_onnx_args args = {.no_simplify = true};
    kn_scope scope = kn_scope_begin();
    kn_onnx model = onnx_open_with(onnx_text_model(r->text, r->version), &args);
    int32_t n = kn_onnx_outputs(model);
    kn_status s = n > 0 && n <= MOST_RESULTS ? kn_onnx_run(model, NULL, 0, out, n) : KN_ERROR_ARGUMENT;
    const char *at = r->expected;
    if (*at == '!') {
        if (!CHECK(s != KN_OK && strstr(kn_last_error(), at + 2)))
            printf("  %s\n  %s\n", r->text, kn_last_error());
    } else {
        if (!CHECK(s == KN_OK)) printf("  version %d, %s\n  %s\n", r->version, r->text, kn_last_error());
        for (int32_t k = 0; s == KN_OK && k < n; k++) at = compare(r, at, out[k]);
    }
    kn_onnx_free(model);
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
}

static const row rows[] = {
    /* scales of old versions, floor of asymmetric places */
    {1, "x = f32[1,1,1,2] 1 2; y = Upsample(x) width_scale=2.0 height_scale=1.0; > y", "[1,1,1,4] 1 1 2 2"},
    {7, "x = f32[1,1,1,2] 1 3; y = Upsample(x) scales=1.0,1.0,1.0,2.0 mode='linear'; > y",
     "[1,1,1,4] 1 2 3 3"},
    {9, "x = f32[1,1,1,2] 1 3; s = f32[4] 1 1 1 2; y = Upsample(x, s) mode='linear'; > y",
     "[1,1,1,4] 1 2 3 3"},
    {10, "x = f32[1,1,1,4] 1 2 3 4; s = f32[4] 1 1 1 0.5; y = Resize(x, s); > y", "[1,1,1,2] 1 3"},
    /* empty lists stand for those that are left out */
    {11,
     "x = f32[1,1,1,2] 1 3; r = f32[0]; s = f32[0]; n = i64[4] 1 1 1 4; y = Resize(x, r, s, n) "
     "mode='linear'; > y",
     "[1,1,1,4] 1 1.5 2.5 3"},
    /* 0.7 means 0.7: element 3 lies exactly between 4 and 5 */
    {13, "x = f32[7] 0 1 2 3 4 5 6; s = f32[1] 0.7; y = Resize(x, -, s); > y", "[4] 0 2 3 4"},
    /* corners meet where the result has a whole number of elements; version 19 counts its fraction, too */
    {13,
     "x = f32[5] 0 1 2 3 4; s = f32[1] 0.5; y = Resize(x, -, s) mode='linear' "
     "coordinate_transformation_mode='align_corners'; > y",
     "[2] 0 4"},
    {18,
     "x = f32[5] 0 1 2 3 4; s = f32[1] 1.7; y = Resize(x, -, s) mode='linear' "
     "coordinate_transformation_mode='align_corners'; z = Cast(y) to=6; > z",
     "[8] 0 0 1 1 2 2 3 4"},
    {19,
     "x = f32[6] 0 1 2 3 4 5; s = f32[1] 0.75; y = Resize(x, -, s) mode='linear' "
     "coordinate_transformation_mode='align_corners'; z = Cast(y) to=6; > z",
     "[4] 0 1 2 4"},
    {13, "x = u8[2] 10 13; n = i64[1] 4; y = Resize(x, -, -, n) mode='linear'; > y", "[4] 10 11 12 13"},
    {13, "x = f32[2,2,1,1] 1 2 3 4; s = f32[4] 2 2 1 2; y = Resize(x, -, s) mode='linear'; > y",
     "[4,4,1,2] 1 1 1.25 1.25 1.75 1.75 2 2 1.5 1.5 1.75 1.75 2.25 2.25 2.5 2.5 2.5 2.5 2.75 2.75 3.25 3.25 "
     "3.5 3.5 3 3 "
     "3.25 3.25 3.75 3.75 4 4"},
    {18, "x = f32[1,2,4] 0 1 2 3 4 5 6 7; n = i64[2] 2 1; y = Resize(x, -, -, n) axes=2,1 mode='linear'; > y",
     "[1,1,2] 2.5 4.5"},
    {18,
     "x = f32[4,2] 0 1 2 3 4 5 6 7; n = i64[2] 2 2; y = Resize(x, -, -, n) "
     "keep_aspect_ratio_policy='not_larger'; > y",
     "[2,1] 0 4"},
    {13, "x = f32[2] 1 2; s = f32[1] 0.0; y = Resize(x, -, s); > y", "! a scale is 0"},
    {13, "x = f32[2] 1 2; s = f32[2] 1 1; y = Resize(x, -, s); > y", "! there are 2 scales for 1 axes"},
    {13, "x = f32[2] 1 2; s = f32[1] 2; y = Resize(x, -, s) mode='quadratic'; > y",
     "! there is no mode 'quadratic'"},
    /* regions */
    {10,
     "x = f32[1,1,2,2] 1 2 3 4; r = f32[1,4] 0 0 2 2; i = i64[1] 0; y = RoiAlign(x, r, i) output_height=2 "
     "output_width=2 sampling_ratio=1; > y",
     "[1,1,2,2] 2.5 3 3.5 4"},
    {1,
     "x = f32[1,1,2,3] 1 2 3 4 5 6; r = f32[2,5] 0 0 0 2 1 0 1 0 1 1; y = MaxRoiPool(x, r) pooled_shape=1,2; "
     "> y",
     "[2,1,1,2] 5 6 5 5"},
    {11,
     "b = f32[1,2,4] 0 0 1 1 0 0 1 2; s = f32[1,1,2] 0.5 0.9; n = i64[1] 0; y = NonMaxSuppression(b, s, n); "
     "> y",
     "[0,3]"},
    {11, "b = f32[1,2,4] 0 0 1 1 5 5 6 6; s = f32[1,1,2] 0.5 0.9; y = NonMaxSuppression(b, s); > y", "[0,3]"},
    {11,
     "b = f32[1,2,4] 0 0 1 1 0 0 1 0.7; s = f32[1,1,2] 0.9 0.5; n = i64[1] 9; t = f32[1] 0.7; y = "
     "NonMaxSuppression(b, s, n, t); > y",
     "[2,3] 0 0 0 0 0 1"},
    /* indices */
    {11,
     "x = f32[2,3] 1 2 3 4 5 6; i = i64[1,2] -1 0; u = f32[1,2] 7 8; y = ScatterElements(x, i, u) axis=1; > "
     "y",
     "[2,3] 8 2 7 4 5 6"},
    {18,
     "x = f32[3] 1 2 3; i = i64[2] 1 1; u = f32[2] 4 5; y = ScatterElements(x, i, u) reduction='mul'; > y",
     "[3] 1 40 3"},
    {11, "x = f32[2] 1 2; i = i64[3,1] 0 0 0; u = f32[3,1] 1 1 1; y = ScatterElements(x, i, u); > y",
     "! the indices have 2 axes"},
    {12, "x = i64[2,2] 1 2 3 4; i = i64[2,1] 1 -2; y = GatherND(x, i) batch_dims=1; > y", "[2] 2 3"},
    {11, "x = i64[4] 3 1 3 2; y, f, v, c = Unique(x) sorted=0; > y f v c",
     "[3] 3 1 2; [3] 0 1 3; [4] 0 1 0 2; [3] 2 1 1"},
    {11, "x = f32[0]; y, f, v, c = Unique(x); > y f v c", "[0]; [0]; [0]; [0]"},
    /* blocks */
    {18, "x = f32[3] 1 2 3; n = i64[1] 6; y = CenterCropPad(x, n); > y", "[6] 0 1 2 3 0 0"},
    {18, "x = f32[1,2,3] 1 2 3 4 5 6; s = i64[1] 4; b = i64[1] 2; y = Col2Im(x, s, b); > y",
     "[1,1,4] 1 6 8 6"},
    {9,
     "x = f32[1,1,2] 5 6; i = i64[1,1,2] 1 2; n = i64[3] 1 1 5; y = MaxUnpool(x, i, n) kernel_shape=2, "
     "strides=2,; > y",
     "[1,1,5] 0 5 6 0 0"},
    {13, "x = f32[1,3,1,1] 1 2 3; y = DepthToSpace(x) blocksize=2; > y", "! 3 channels are no multiple of 4"},
    {20, "x = u8[4] 66 77 0 0; y = ImageDecoder(x); > y", "! the image is a packed BMP"},
    {20, "x = u8[4] 1 2 3 4; y = ImageDecoder(x); > y", "! ImageDecoder"},
    /* "P6 # a\n1 2 255 " and two pixels; the same with one byte less */
    {20,
     "x = u8[21] 80 54 32 35 32 97 10 49 32 50 32 50 53 53 32 1 2 3 4 5 6; y = ImageDecoder(x) "
     "pixel_format='BGR'; > y",
     "[2,1,3] 3 2 1 6 5 4"},
    {20, "x = u8[20] 80 54 32 35 32 97 10 49 32 50 32 50 53 53 32 1 2 3 4 5; y = ImageDecoder(x); > y",
     "! ImageDecoder"},
    {20, "x = u8[13] 80 53 10 50 32 49 10 50 53 53 10 9 8; y = ImageDecoder(x) pixel_format='Grayscale'; > y",
     "[1,2,1] 9 8"},
    /* two rows of one pixel, the lower first */
    {20,
     "x = u8[61] 66 77 61 0 0 0 0 0 0 0 54 0 0 0 40 0 0 0 1 0 0 0 2 0 0 0 1 0 24 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
     "0 0 0 0 0 0 "
     "0 0 0 0 0 1 2 3 0 4 5 6; y = ImageDecoder(x); > y",
     "[2,1,3] 6 5 4 3 2 1"},
};

int main(void)
{
    static const int64_t pairs[2][2] = {{2, 4}, {4, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) run_row(&rows[i]);
    onnx_open_sizes("x f32[1,2,-1,-1]; s = f32[4] 1 1 2 0.5; y = Resize(x, -, s) mode='linear'; > y", 13,
                    "1, 2, 2 * n2, (n3 / 2)", pairs);
    onnx_open_sizes("x f32[1,2,-1,-1]; s = f32[4] 1 1 1.5 3; y = Resize(x, -, s) mode='nearest' "
                    "coordinate_transformation_mode='asymmetric' nearest_mode='floor'; > y",
                    13, "1, 2, ((3 * n2) / 2), 3 * n3", pairs);
    onnx_open_sizes("x f32[1,2,-1,-1]; y = SpaceToDepth(x) blocksize=2; > y", 13, "1, 8, (n2 / 2), (n3 / 2)",
                    pairs);
    onnx_open_sizes("x f32[1,2,-1,-1]; n = i64[2] 3 5; y = CenterCropPad(x, n) axes=2,3; > y", 18,
                    "1, 2, 3, 5", pairs);
    CHECK(kn_shutdown() == 0);
    return check_report();
}

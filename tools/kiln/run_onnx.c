/* kiln run model.onnx. */
#define KN_NO_SITES 1
#include "kiln.h"
#include <kn/onnx.h>

int kiln_run_onnx(int count, char **arguments)
{
    (void)count, (void)arguments;
    return 1;
}

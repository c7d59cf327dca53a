/* On wasm there are no libraries to decode images with: pages have decoders of their own. */
#ifdef __wasm__
#include "support/failure.h"
#include <kn/data/source.h>

kn_tensor kn_image_decode(const void *data, size_t bytes, const char *name, const kn_image_args *args)
{
    (void)data, (void)bytes, (void)args;
    return kni_poisoned(KN_ERROR_UNSUPPORTED,
                        "kn_image_decode: %s cannot be decoded on wasm; decode it in the page "
                        "(createImageBitmap) and give its "
                        "pixels",
                        name ? name : "the image");
}
#endif

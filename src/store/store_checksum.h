/* The checksums of safetensors files that Kiln writes: making, reading and comparing them. */
#ifndef KNI_STORE_CHECKSUM_H
#define KNI_STORE_CHECKSUM_H

#include "store/store_object.h"

#define KNI_STORE_CHECKSUM_NAME "kiln.checksum"

/* Bytes of the text for so many tensors. */
size_t kni_checksum_length(int64_t tensors);
/* Appends the text; the values have the checksums of their bytes. */
kn_status kni_checksum_write(const kni_store_writing *w, kni_buffer *out);

/* Takes the checksums from the metadata. A file of Kiln's that should have them and does not is damaged. */
kn_status kni_checksum_read(kni_store *store);
/* Compares everything but the bytes of the tensors. */
kn_status kni_checksum_check_header(kni_store *store);
/* Whether the bytes of a tensor are still to be compared. */
bool kni_checksum_wanted(kni_store *store, const kni_store_item *item);
/* Compares the checksum of all bytes of a tensor, and remembers a good one. */
kn_status kni_checksum_compare(kni_store *store, kni_store_item *item, uint32_t crc);
/* Reads the bytes of a tensor and compares them. */
kn_status kni_checksum_check(kni_store *store, kni_store_item *item);

#endif

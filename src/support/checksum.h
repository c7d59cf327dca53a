/* Cyclic checksums of 32 bits, reflected, with the start and the end inverted: CRC-32 (zip, PNG) and CRC-32C (Castagnoli: iSCSI,
   TensorBoard, Kiln's own files). Each continues from the value of a former part, 0 at first. */
#ifndef KNI_SUPPORT_CHECKSUM_H
#define KNI_SUPPORT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of "123456789": cbf43926. */
uint32_t kni_crc32(uint32_t crc, const void *data, size_t bytes);
/* Of "123456789": e3069283. Several GB/s where the processor has an instruction for it. */
uint32_t kni_crc32c(uint32_t crc, const void *data, size_t bytes);
/* The same without the instruction, for its test. */
uint32_t kni_crc32c_plain(uint32_t crc, const void *data, size_t bytes);

#endif

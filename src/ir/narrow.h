/* The narrow form of docs/adding-a-device.md: a kernel said in scalars of 32 bits, with the library's math as functions
   of the module. For devices without 64-bit numbers or small elements, and for printers that print no C. */
#ifndef KNI_IR_NARROW_H
#define KNI_IR_NARROW_H

#include "ir/ir.h"

/* Brings a kernel into it, whose groups and tiles were expanded (ir/legalise.h). What it then holds is verified, simplified
   and checked. KN_ERROR_UNSUPPORTED where it has no such form, with what and why. */
kn_status kni_ir_narrow(kni_ir *ir, const kni_ir_caps *caps);
/* Refuses what the page does not list. */
kn_status kni_ir_narrow_check(const kni_ir *ir, const kni_ir_caps *caps);

#endif

/* System libraries opened at run time, so that libkiln itself depends on none. The header of the library is used at build
   time for the types; where it is absent the part says so in one line. */
#ifndef KNI_SUPPORT_LIBRARY_H
#define KNI_SUPPORT_LIBRARY_H

#include "support/library_list.h"

typedef struct kni_library_symbol {
    const char *name;
    void **address; /* filled when the library is opened */
} kni_library_symbol;

typedef struct kni_library {
    kni_library_id id;
    const char *purpose;               /* "reading .png images" */
    const kni_library_symbol *symbols; /* the last one {0} */
    int32_t state;                     /* 0; private */
} kni_library;

/* Opens it once, from any thread. KN_ERROR_UNSUPPORTED: "reading .png images needs libpng16.so.16 (Debian: apt install
   libpng16-16)". */
kn_status kni_library_open(kni_library *library);

/* Tells MemorySanitizer that a library, which it cannot see into, has written these bytes. Libraries that write behind
   anybody's back cannot be used under it at all. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define kni_library_wrote(address, bytes) __msan_unpoison((address), (bytes))
#define KNI_MEMORY_SANITIZER 1
#endif
#endif
#ifndef kni_library_wrote
#define kni_library_wrote(address, bytes) ((void)(address), (void)(bytes))
#define KNI_MEMORY_SANITIZER 0
#endif

#endif

/* A program that includes this defines calloc itself and passes it on, so that it can fail. A sanitizer has an allocator of its own, whose
   memory must not be mixed with the C library's: FAILING_CALLOC is 0 there. */
#ifndef FAILING_CALLOC_H
#define FAILING_CALLOC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAILING_CALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FAILING_CALLOC 0
#endif
#endif
#ifndef FAILING_CALLOC
#define FAILING_CALLOC 1

static _Thread_local int64_t until_failure; /* calls of calloc until one fails; 0: none will */

void *__libc_calloc(size_t n, size_t size);
void *calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
    if (until_failure && --until_failure == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(n, size);
}
#endif

#endif

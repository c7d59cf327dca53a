/* The libraries that are opened at run time: the list of them, and the folders that are looked at first. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "support/check.h"
#include "support/library_list.h"
#include <kn/system.h>
#include <stdlib.h>
#include <unistd.h>

static const char *found(const char *name)
{
    kn_library_info l;
    for (int i = 0; kn_library_at(i, &l); i++)
        if (!strcmp(l.name, name)) return l.file;
    CHECK(!"a library of this name");
    return NULL;
}

int main(void)
{
    kn_library_info l;
    int n = 0;
    for (; kn_library_at(n, &l); n++) {
        CHECK(l.name && l.purpose && l.package);
        CHECK(kni_libraries[n].files[0] &&
              (!l.file || strstr(l.file, "lib") == l.file || !strchr(l.file, '.')));
    }
    CHECK(n == KNI_LIBRARY_COUNT && !kn_library_at(-1, &l) && !kn_library_at(0, NULL));
    CHECK(!kni_library_load(&kni_libraries[KNI_LIBRARY_ZLIB], "libof_no_name.so.9"));
    /* A file in one of the folders of the variable is found there, whatever else is in the list. */
    char folder[] = "kiln_libraries_XXXXXX", text[300];
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    snprintf(text, sizeof text, "echo 'int kiln_test;' | cc -x c -shared -fPIC - -o %s/libcudnn.so.9",
             folder);
    if (system(text) == 0) {
        snprintf(text, sizeof text, ":/nowhere:%s", folder);
        setenv("KN_CUDA_LIBRARIES", text, 1);
        const char *file = found("cuDNN");
        CHECK(file && !strcmp(file, "libcudnn.so.9"));
        unsetenv("KN_CUDA_LIBRARIES");
        snprintf(text, sizeof text, "%s/libcudnn.so.9", folder);
        unlink(text);
    }
    rmdir(folder);
    return check_report();
}

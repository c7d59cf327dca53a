/* Folders that a compiler works in: made, marked, locked while their process lives, and swept by a later one when it died. */
#ifndef KNI_JIT_FOLDER_H
#define KNI_JIT_FOLDER_H

/* One folder; path is NULL when there is none. */
typedef struct kni_jit_folder {
    char *path;
    int lock; /* the open mark, locked */
} kni_jit_folder;

/* Makes a private folder in $TMPDIR, else in /tmp. The first call of a process removes the folders there that dead processes
   made and marked. path stays NULL when there is no room or no memory. */
void kni_jit_folder_make(kni_jit_folder *folder);
/* Removes it with all that a compiler left in it. */
void kni_jit_folder_remove(kni_jit_folder *folder);
/* Forgets it without removing it: it belongs to the parent of this process. */
void kni_jit_folder_leave(kni_jit_folder *folder);
/* Where folders are made, for messages. */
const char *kni_jit_folder_base(void);

#endif

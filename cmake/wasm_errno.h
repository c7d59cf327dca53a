/* Debian's wasi-libc is built for one thread: its errno is a plain variable, whatever its header says to code that is compiled for
   several. Included before everything else in builds with threads, where the library's own thread alone uses files. */
#define __wasilibc___errno_h
extern int errno;
#define errno errno

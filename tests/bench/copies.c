/* Counts the bytes that go from one place in memory to another in pieces of a page of memory and more: bodies and what
   is made of them. Loaded before the C library (LD_PRELOAD); what copies inside that library is not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

enum { LARGE = 4096 };

typedef void *(*copy)(void *, const void *, size_t);
static copy real_memcpy, real_memmove;
static long bytes;

static copy found(copy *known, const char *name) {
    if (!*known) *known = (copy)dlsym(RTLD_NEXT, name);
    return *known;
}

static void count(size_t length) {
    if (length >= LARGE) __atomic_fetch_add(&bytes, (long)length, __ATOMIC_RELAXED);
}

void *memcpy(void *to, const void *from, size_t length) {
    count(length);
    return found(&real_memcpy, "memcpy")(to, from, length);
}

void *memmove(void *to, const void *from, size_t length) {
    count(length);
    return found(&real_memmove, "memmove")(to, from, length);
}

long gossamer_bytes_copied(void) { return __atomic_load_n(&bytes, __ATOMIC_RELAXED); }

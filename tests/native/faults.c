/* Faults and a trace for file operations: a library to preload into the program under test.
 *
 *   cc -O1 -shared -fPIC -o faults.so faults.c -ldl
 *   LD_PRELOAD=faults.so FAULT_KILL='*:/run/:17' program
 *
 * Settings, from the environment, read when the program starts and whenever it calls faults_reload(). OPS is a list of
 * operations separated by commas, or `*` for all that change the disk; PATH is a part of a path, empty for any; N counts the
 * matching calls of the whole process from 1, and `N+` means the N-th and all later ones.
 *
 *   FAULT_DELAY=OPS:PATH:MS      every matching call first sleeps MS milliseconds
 *   FAULT_FAIL=OPS:PATH:N:ERRNO  the N-th matching call fails with this number or name (ENOSPC, EIO, EINTR, ...)
 *   FAULT_SHORT=OPS:PATH:N       the N-th matching read, pread, write or pwrite moves half (of 4 KiB or more: whole
 *                                blocks, at least one)
 *   FAULT_KILL=OPS:PATH:N        the process dies by SIGKILL instead of making the N-th matching call
 *   FAULT_BUFFERED=PATH          opening a matching file with O_DIRECT is refused with EINVAL
 *   FAULT_TRACE=OPS:PATH:FILE    each matching call, made or failed, is appended to FILE after it returned, as one line
 *                                of tabs: op, path, offset, length, other, result
 *   FAULT_DATA=FILE              what traced calls wrote is appended to FILE, in the order of their lines. Traced calls are
 *                                then made one at a time, so that this is the order in which they happened
 *
 * Operations: open (no O_CREAT or O_TRUNC), create (open with one of them), read, pread, write, pwrite, rename, link,
 * symlink, unlink, mkdir, rmdir, fsync, fdatasync, ftruncate, truncate. All variants of a call (pwrite64, pwritev,
 * renameat2, linkat, sendfile, copy_file_range, ...) count under the plain name. `*` leaves out open, read and pread.
 *
 * In a trace line, -1 or nothing stands for what a call does not have. `other` is the new path of rename, link and
 * symlink (whose `path` is the old one, or the link's text); both are matched. A path relative to a folder's descriptor
 * has that folder's path in front; the path of a descriptor is what /proc/self/fd says, so a renamed open file shows its
 * new name. `result` is what the call returned, or -errno. The `length` of create is 0 where it empties the file (O_TRUNC).
 *
 * Counters are atomic and a trace line is one append, so several threads may be traced; a child process inherits the
 * settings and counts for itself. Not seen: mmap, io_uring, direct system calls, the C library's own files (fopen) but for
 * fread, which is a read.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault_rules.h"

/* ------------------------------------------------------------------ paths */

static void path_of(int fd, char *path) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int kept = errno;
    long length = syscall(SYS_readlinkat, AT_FDCWD, name, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    errno = kept;
}

static void path_at(int folder, const char *name, char *path) {
    path[0] = 0;
    if (name[0] != '/' && folder != AT_FDCWD) {
        path_of(folder, path);
        strncat(path, "/", PATH_MAX - strlen(path) - 1);
    }
    strncat(path, name, PATH_MAX - strlen(path) - 1);
}

/* The C library's own function of this name. */
#define REAL(name) ((__typeof__(&name))real(&real_##name, #name))
#define DECLARE(name) static void *_Atomic real_##name
static void *real(void *_Atomic *slot, const char *name) {
    void *found = atomic_load(slot);
    if (!found) atomic_store(slot, found = dlsym(RTLD_NEXT, name));
    return found;
}

/* Runs `call` unless a fault comes first; returns its result and traces it. */
#define WRAP(op, path, offset, length, other, call)                  \
    do {                                                             \
        int wrapped_alone = has_data && matches(&trace, op, path, other); \
        if (wrapped_alone) pthread_mutex_lock(&one_at_a_time);       \
        int wrapped_error = before(op, path, other);                 \
        long wrapped_result;                                         \
        if (wrapped_error) errno = wrapped_error, wrapped_result = -1; \
        else wrapped_result = (call);                                \
        after(op, path, offset, length, other, wrapped_result);      \
        if (wrapped_alone) pthread_mutex_unlock(&one_at_a_time);     \
        return wrapped_result;                                       \
    } while (0)

/* ------------------------------------------------------------------ opening */

static int opening(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    path_at(folder, name, path);
    const char *op = flags & (O_CREAT | O_TRUNC) ? "create" : "open";
    if (has_buffered && (flags & O_DIRECT) == O_DIRECT && strstr(path, buffered)) {
        errno = EINVAL;
        return -1;
    }
    WRAP(op, path, -1, flags & O_TRUNC ? 0 : -1, NULL, syscall(SYS_openat, folder, name, flags | O_LARGEFILE, mode));
}

static mode_t mode_in(int flags, va_list rest) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(rest, int) : 0;
}

#define OPEN(NAME)                                          \
    int NAME(const char *name, int flags, ...) {            \
        va_list rest;                                       \
        va_start(rest, flags);                              \
        mode_t mode = mode_in(flags, rest);                 \
        va_end(rest);                                       \
        return opening(AT_FDCWD, name, flags, mode);        \
    }
#define OPENAT(NAME)                                        \
    int NAME(int folder, const char *name, int flags, ...) { \
        va_list rest;                                       \
        va_start(rest, flags);                              \
        mode_t mode = mode_in(flags, rest);                 \
        va_end(rest);                                       \
        return opening(folder, name, flags, mode);          \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int creat(const char *name, mode_t mode) { return opening(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* ------------------------------------------------------------------ moving data */

#define AT_OFFSET(NAME, OP, BUFFER)                                                     \
    DECLARE(NAME);                                                                      \
    ssize_t NAME(int fd, BUFFER data, size_t length, off_t offset) {                    \
        char path[PATH_MAX];                                                            \
        path_of(fd, path);                                                              \
        length = shortened(OP, path, length);                                           \
        WRAP(OP, path, (long)offset, (long)length, NULL, REAL(NAME)(fd, data, length, offset)); \
    }
AT_OFFSET(pread, "pread", void *)
AT_OFFSET(pread64, "pread", void *)
AT_OFFSET(pwrite, "pwrite", const void *)
AT_OFFSET(pwrite64, "pwrite", const void *)

#define AT_POSITION(NAME, OP, BUFFER)                                                   \
    DECLARE(NAME);                                                                      \
    ssize_t NAME(int fd, BUFFER data, size_t length) {                                  \
        char path[PATH_MAX];                                                            \
        path_of(fd, path);                                                              \
        if (path[0] != '/') return REAL(NAME)(fd, data, length); /* pipes, sockets */   \
        long offset = syscall(SYS_lseek, fd, 0L, SEEK_CUR);                             \
        length = shortened(OP, path, length);                                           \
        WRAP(OP, path, offset, (long)length, NULL, REAL(NAME)(fd, data, length));       \
    }
AT_POSITION(read, "read", void *)
AT_POSITION(write, "write", const void *)

/* Arrays are read through the C library's buffer. */
DECLARE(fread);
size_t fread(void *data, size_t size, size_t count, FILE *file) {
    char path[PATH_MAX];
    path_of(fileno(file), path);
    if (path[0] != '/') return REAL(fread)(data, size, count, file);
    int error = before("read", path, NULL);
    size_t got = error ? 0 : REAL(fread)(data, size, count, file);
    if (error) {
        file->_flags |= 0x20; /* what ferror tells, in glibc */
        errno = error;
    }
    after("read", path, -1, (long)(size * count), NULL, ferror(file) ? -1 : (long)(size * got));
    return got;
}

static long total(const struct iovec *parts, int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) sum += (long)parts[i].iov_len;
    return sum;
}

DECLARE(writev);
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    path_of(fd, path);
    if (path[0] != '/') return REAL(writev)(fd, parts, count);
    WRAP("write", path, syscall(SYS_lseek, fd, 0L, SEEK_CUR), total(parts, count), NULL, REAL(writev)(fd, parts, count));
}

#define VECTOR_AT_OFFSET(NAME)                                                          \
    DECLARE(NAME);                                                                      \
    ssize_t NAME(int fd, const struct iovec *parts, int count, off_t offset) {          \
        char path[PATH_MAX];                                                            \
        path_of(fd, path);                                                              \
        WRAP("pwrite", path, (long)offset, total(parts, count), NULL, REAL(NAME)(fd, parts, count, offset)); \
    }
VECTOR_AT_OFFSET(pwritev)
VECTOR_AT_OFFSET(pwritev64)

#define SENDFILE(NAME)                                                                  \
    DECLARE(NAME);                                                                      \
    ssize_t NAME(int out, int in, off_t *from, size_t length) {                         \
        char path[PATH_MAX];                                                            \
        path_of(out, path);                                                             \
        if (path[0] != '/') return REAL(NAME)(out, in, from, length);                   \
        long offset = syscall(SYS_lseek, out, 0L, SEEK_CUR);                            \
        WRAP("write", path, offset, (long)length, NULL, REAL(NAME)(out, in, from, length)); \
    }
SENDFILE(sendfile)
SENDFILE(sendfile64)

DECLARE(copy_file_range);
ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags) {
    char path[PATH_MAX];
    path_of(out, path);
    long offset = out_offset ? (long)*out_offset : syscall(SYS_lseek, out, 0L, SEEK_CUR);
    WRAP("write", path, offset, (long)length, NULL, REAL(copy_file_range)(in, in_offset, out, out_offset, length, flags));
}

#define LENGTH_OF(NAME)                                                                 \
    DECLARE(NAME);                                                                      \
    int NAME(int fd, off_t length) {                                                    \
        char path[PATH_MAX];                                                            \
        path_of(fd, path);                                                              \
        WRAP("ftruncate", path, -1, (long)length, NULL, REAL(NAME)(fd, length));        \
    }
LENGTH_OF(ftruncate)
LENGTH_OF(ftruncate64)

#define LENGTH_OF_PATH(NAME)                                                            \
    DECLARE(NAME);                                                                      \
    int NAME(const char *path, off_t length) {                                          \
        WRAP("truncate", path, -1, (long)length, NULL, REAL(NAME)(path, length));       \
    }
LENGTH_OF_PATH(truncate)
LENGTH_OF_PATH(truncate64)

/* Nothing waits for the disk: who dies by a signal loses nothing that was written, and power cuts are made from a trace. */
#define SYNC(NAME)                                                                      \
    DECLARE(NAME);                                                                      \
    int NAME(int fd) {                                                                  \
        char path[PATH_MAX];                                                            \
        path_of(fd, path);                                                              \
        struct stat about;                                                              \
        int on_disk = fstat(fd, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)); \
        WRAP(#NAME, path, -1, -1, NULL, on_disk ? 0 : REAL(NAME)(fd));                  \
    }
SYNC(fsync)
SYNC(fdatasync)

/* ------------------------------------------------------------------ names */

static int renaming(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char path[PATH_MAX], other[PATH_MAX];
    path_at(from_folder, from, path);
    path_at(to_folder, to, other);
    WRAP("rename", path, -1, -1, other, syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int rename(const char *from, const char *to) { return renaming(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return renaming(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return renaming(a, from, b, to, flags); }

static int linking(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char path[PATH_MAX], other[PATH_MAX];
    path_at(from_folder, from, path);
    path_at(to_folder, to, other);
    WRAP("link", path, -1, -1, other, syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int link(const char *from, const char *to) { return linking(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return linking(a, from, b, to, flags); }

int symlinkat(const char *text, int folder, const char *name) {
    char path[PATH_MAX];
    path_at(folder, name, path);
    WRAP("symlink", text, -1, -1, path, syscall(SYS_symlinkat, text, folder, name));
}
int symlink(const char *text, const char *name) { return symlinkat(text, AT_FDCWD, name); }

int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    path_at(folder, name, path);
    WRAP(flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, -1, -1, NULL, syscall(SYS_unlinkat, folder, name, flags));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    path_at(folder, name, path);
    WRAP("mkdir", path, -1, -1, NULL, syscall(SYS_mkdirat, folder, name, mode));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

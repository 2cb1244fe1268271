/* What happens at a file operation, by the settings that faults.c explains: which rules match, what comes before it, what is
 * written of it after. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct rule {
    int on;
    char ops[256], path[PATH_MAX];
    long nth; /* or milliseconds */
    int and_later;
    int error;
    char file[PATH_MAX];
    atomic_long seen;
};

static struct rule delay, fail, shorten, die, trace;
static char buffered[PATH_MAX];
static int has_buffered;
static char data_file[PATH_MAX];
static int has_data;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char* name;
    int value;
} kErrors[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
    {"EDQUOT", EDQUOT}, {"EACCES", EACCES}, {"EPERM", EPERM},   {"EXDEV", EXDEV},
    {"EMLINK", EMLINK}, {"EROFS", EROFS},   {"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP},
    {"ENOSYS", ENOSYS}, {"ENOENT", ENOENT}, {"EBADF", EBADF},   {"EFBIG", EFBIG},
    {"EMFILE", EMFILE},
};

static void complain(const char* name, const char* value) {
    dprintf(2, "faults: cannot read %s=%s\n", name, value);
    _exit(126);
}

static int error_number(const char* text) {
    for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; i++)
        if (strcmp(kErrors[i].name, text) == 0) return kErrors[i].value;
    return atoi(text);
}

/* OPS:PATH:LAST[:ERRNO] */
static void read_rule(const char* name, struct rule* rule, int wants_error, int wants_file) {
    const char* value = getenv(name);
    if (!value) return;
    const char* first = strchr(value, ':');
    const char* second = first ? strchr(first + 1, ':') : NULL;
    if (!second || first - value >= (long)sizeof rule->ops || second - first >= (long)sizeof rule->path) complain(name, value);
    snprintf(rule->ops, sizeof rule->ops, "%.*s", (int)(first - value), value);
    snprintf(rule->path, sizeof rule->path, "%.*s", (int)(second - first - 1), first + 1);
    if (wants_file) {
        snprintf(rule->file, sizeof rule->file, "%s", second + 1);
    } else {
        char* end;
        rule->nth = strtol(second + 1, &end, 10);
        if (end == second + 1) complain(name, value);
        if (*end == '+') rule->and_later = 1, end++;
        if (wants_error) {
            rule->error = *end == ':' ? error_number(end + 1) : 0;
            if (rule->error <= 0) complain(name, value);
        }
    }
    rule->on = 1;
}

__attribute__((constructor)) void faults_reload(void) {
    struct rule* const rules[] = {&delay, &fail, &shorten, &die, &trace};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) memset(rules[i], 0, sizeof **rules);
    has_buffered = has_data = 0;
    read_rule("FAULT_DELAY", &delay, 0, 0);
    read_rule("FAULT_FAIL", &fail, 1, 0);
    read_rule("FAULT_SHORT", &shorten, 0, 0);
    read_rule("FAULT_KILL", &die, 0, 0);
    read_rule("FAULT_TRACE", &trace, 0, 1);
    const char* part = getenv("FAULT_BUFFERED");
    if (part) has_buffered = 1, snprintf(buffered, sizeof buffered, "%s", part);
    const char* data = getenv("FAULT_DATA");
    if (data) has_data = 1, snprintf(data_file, sizeof data_file, "%s", data);
}

static int names(const struct rule* rule, const char* op) {
    if (strcmp(rule->ops, "*") == 0) return strcmp(op, "open") && strcmp(op, "read") && strcmp(op, "pread");
    size_t length = strlen(op);
    for (const char* at = rule->ops; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, op, length) == 0 && (at[length] == ',' || at[length] == 0)) return 1;
    return 0;
}

static int matches(const struct rule* rule, const char* op, const char* path, const char* other) {
    return rule->on && names(rule, op) && (strstr(path, rule->path) || (other && strstr(other, rule->path)));
}

static int due(struct rule* rule) {
    long count = atomic_fetch_add(&rule->seen, 1) + 1;
    return count == rule->nth || (rule->and_later && count >= rule->nth);
}

/* What is to happen instead of a call: an errno, or 0 to make it. May sleep or die. */
static int before(const char* op, const char* path, const char* other) {
    if (matches(&delay, op, path, other)) {
        struct timespec pause = {delay.nth / 1000, delay.nth % 1000 * 1000000};
        while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
        }
    }
    if (matches(&die, op, path, other) && due(&die)) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
    return matches(&fail, op, path, other) && due(&fail) ? fail.error : 0;
}

static size_t shortened(const char* op, const char* path, size_t length) {
    if (length < 2 || !matches(&shorten, op, path, NULL) || !due(&shorten)) return length;
    if (length < 4096) return length / 2;
    return length < 8192 ? 4096 : length / 2 / 4096 * 4096;
}

/* Bytes [offset, offset + count) of the file at `path`, as they are now, to the end of FAULT_DATA; what is not there as zeros. */
static void keep(const char* path, long offset, long count) {
    char piece[1 << 14];
    long from = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long to = syscall(SYS_openat, AT_FDCWD, data_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    while (count > 0) {
        long part = count < (long)sizeof piece ? count : (long)sizeof piece;
        long got = from < 0 ? 0 : syscall(SYS_pread64, from, piece, (size_t)part, offset);
        if (got <= 0) memset(piece, 0, (size_t)(got = part));
        syscall(SYS_write, to, piece, (size_t)got);
        offset += got, count -= got;
    }
    syscall(SYS_close, from);
    syscall(SYS_close, to);
}

static void after(const char* op, const char* path, long offset, long length, const char* other, long result) {
    if (!matches(&trace, op, path, other)) return;
    int kept = errno;
    if (has_data && result > 0 && (strcmp(op, "write") == 0 || strcmp(op, "pwrite") == 0)) keep(path, offset, result);
    char line[3 * PATH_MAX];
    int size = snprintf(line, sizeof line, "%s\t%s\t%ld\t%ld\t%s\t%ld\n", op, path, offset, length, other ? other : "",
                        result < 0 ? -(long)kept : result);
    long fd = syscall(SYS_openat, AT_FDCWD, trace.file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
        syscall(SYS_write, fd, line, (size_t)size);
        syscall(SYS_close, fd);
    }
    errno = kept;
}

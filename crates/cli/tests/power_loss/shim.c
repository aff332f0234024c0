/*
 * Stands between a program and its C library (LD_PRELOAD), for the files below the folder IO_SHIM_FOLDER.
 *
 * IO_SHIM_LOG=FILE   logs every change to these files, every sync of them, and the first bytes of everything that is sent on a
 *                    socket, in the order in which the calls returned. What is sent is logged before it is sent.
 * IO_SHIM_FAIL=CALL:K:ERROR
 *                    fails the K-th CALL (open, write or sync), counted from 1, with the number ERROR; a write whose ERROR is 0
 *                    writes half of its bytes.
 *
 * A record of the log is a struct record, a path and data. Nothing is logged of files that are mapped into memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPENED = 1, WRITTEN, CUT, SYNCED, SYNC_FAILED, RENAMED, UNLINKED, MADE, SENT };
enum { OPEN_CALL, WRITE_CALL, SYNC_CALL, CALLS };
enum { FILES_MAX = 65536, SENT_MAX = 16384 };

struct __attribute__((packed)) record {
    uint8_t kind;
    uint64_t inode;
    uint64_t offset;
    uint32_t path_bytes;
    uint32_t data_bytes;
};

static const char *const calls[CALLS] = {"open", "write", "sync"};
static char folder[PATH_MAX];
static int log_file = -1;
static int failing_call = -1;
static long fails_at, failing_error, called;
static uint64_t records;
static uint64_t inodes[FILES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void begin(void) __attribute__((constructor));
static void begin(void) {
    const char *below = getenv("IO_SHIM_FOLDER"), *log = getenv("IO_SHIM_LOG"), *fail = getenv("IO_SHIM_FAIL");
    if (below) snprintf(folder, sizeof folder, "%s/", below);
    if (log) log_file = NEXT(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (int call = 0; fail && call < CALLS; call++) {
        size_t length = strlen(calls[call]);
        if (strncmp(fail, calls[call], length) || fail[length] != ':') continue;
        failing_call = call;
        if (sscanf(fail + length, ":%ld:%ld", &fails_at, &failing_error) != 2) abort();
    }
}

static int is_below(const char *path) {
    size_t length = strlen(folder);
    return length && (!strncmp(path, folder, length) || (!strncmp(path, folder, length - 1) && !path[length - 1]));
}

static uint64_t inode_of(int file) {
    return file >= 0 && file < FILES_MAX ? __atomic_load_n(&inodes[file], __ATOMIC_RELAXED) : 0;
}

static int is_failing(int call) {
    return call == failing_call && __atomic_add_fetch(&called, 1, __ATOMIC_RELAXED) == fails_at;
}

static void put(enum kind kind, uint64_t inode, uint64_t offset, const char *path, const void *data, size_t bytes) {
    if (log_file < 0) return;
    struct record record = {kind, inode, offset, path ? strlen(path) : 0, bytes};
    struct iovec parts[] = {{&record, sizeof record}, {(void *)path, record.path_bytes}, {(void *)data, bytes}};
    int error = errno;
    pthread_mutex_lock(&lock);
    ssize_t whole = sizeof record + record.path_bytes + bytes;
    /* A log with a gap would prove nothing. */
    if (NEXT(writev)(log_file, parts, 3) != whole) abort();
    records++;
    pthread_mutex_unlock(&lock);
    errno = error;
}

/* Files. */

static int opened(int file, const char *path, int flags) {
    struct stat status;
    if (file < 0 || file >= FILES_MAX || !is_below(path) || fstat(file, &status)) return file;
    __atomic_store_n(&inodes[file], status.st_ino, __ATOMIC_RELAXED);
    put(OPENED, status.st_ino, 0, path, NULL, 0);
    if (flags & O_TRUNC) put(CUT, status.st_ino, 0, NULL, NULL, 0);
    return file;
}

#define OPEN(name, names, ...)                                               \
    int name(__VA_ARGS__, int flags, ...) {                                         \
        va_list rest;                                                               \
        va_start(rest, flags);                                                      \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;     \
        va_end(rest);                                                               \
        if (is_below(path) && is_failing(OPEN_CALL)) return errno = failing_error, -1; \
        return opened(NEXT(name) names, path, flags);                               \
    }

OPEN(open, (path, flags, mode), const char *path)
OPEN(open64, (path, flags, mode), const char *path)
/* Whatever follows is opened by its whole path. */
OPEN(openat, (folder, path, flags, mode), int folder, const char *path)
OPEN(openat64, (folder, path, flags, mode), int folder, const char *path)

int close(int file) {
    if (inode_of(file)) __atomic_store_n(&inodes[file], 0, __ATOMIC_RELAXED);
    return NEXT(close)(file);
}

/* What a write is to do: all of its bytes, half of them, or none. */
static int shorten(size_t *bytes) {
    if (!is_failing(WRITE_CALL)) return 0;
    if (failing_error) return errno = failing_error, -1;
    *bytes /= 2;
    return 0;
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset) {
    uint64_t inode = inode_of(file);
    if (inode && shorten(&bytes)) return -1;
    ssize_t written = NEXT(pwrite64)(file, data, bytes, offset);
    if (inode && written > 0) put(WRITTEN, inode, offset, NULL, data, written);
    return written;
}

static void put_sent(int file, const void *data, size_t bytes) {
    (void)file;
    put(SENT, 0, 0, NULL, data, bytes < SENT_MAX ? bytes : SENT_MAX);
}

static int is_socket(int file) {
    struct stat status;
    return !fstat(file, &status) && S_ISSOCK(status.st_mode);
}

ssize_t write(int file, const void *data, size_t bytes) {
    uint64_t inode = inode_of(file);
    if (!inode) {
        if (log_file >= 0 && is_socket(file)) put_sent(file, data, bytes);
        return NEXT(write)(file, data, bytes);
    }
    if (shorten(&bytes)) return -1;
    ssize_t written = NEXT(write)(file, data, bytes);
    if (written > 0) put(WRITTEN, inode, lseek64(file, 0, SEEK_CUR) - written, NULL, data, written);
    return written;
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    char joined[SENT_MAX];
    size_t bytes = 0;
    if (inode_of(file)) {
        /* One after another: a caller of writev copes with less than it asked for. */
        return count > 0 ? write(file, parts[0].iov_base, parts[0].iov_len) : 0;
    }
    if (log_file >= 0 && is_socket(file)) {
        for (int part = 0; part < count && bytes < SENT_MAX; part++) {
            size_t length = parts[part].iov_len < SENT_MAX - bytes ? parts[part].iov_len : SENT_MAX - bytes;
            memcpy(joined + bytes, parts[part].iov_base, length);
            bytes += length;
        }
        put_sent(file, joined, bytes);
    }
    return NEXT(writev)(file, parts, count);
}

ssize_t send(int file, const void *data, size_t bytes, int flags) {
    if (log_file >= 0) put_sent(file, data, bytes);
    return NEXT(send)(file, data, bytes, flags);
}

int ftruncate64(int file, off64_t length) {
    int result = NEXT(ftruncate64)(file, length);
    if (!result && inode_of(file)) put(CUT, inode_of(file), length, NULL, NULL, 0);
    return result;
}

/* A sync makes durable what was written before it began: its offset is the number of records before that. */
static int synced(int file, int (*sync)(int)) {
    uint64_t inode = inode_of(file);
    pthread_mutex_lock(&lock);
    uint64_t before = records;
    pthread_mutex_unlock(&lock);
    if (inode && is_failing(SYNC_CALL)) {
        put(SYNC_FAILED, inode, before, NULL, NULL, 0);
        return errno = failing_error, -1;
    }
    int result = sync(file);
    if (inode && !result) put(SYNCED, inode, before, NULL, NULL, 0);
    return result;
}

int fsync(int file) { return synced(file, NEXT(fsync)); }
int fdatasync(int file) { return synced(file, NEXT(fdatasync)); }

/* Names. */

int rename(const char *from, const char *to) {
    int result = NEXT(rename)(from, to);
    if (!result && is_below(to)) put(RENAMED, 0, 0, from, to, strlen(to));
    return result;
}

int unlink(const char *path) {
    int result = NEXT(unlink)(path);
    if (!result && is_below(path)) put(UNLINKED, 0, 0, path, NULL, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    int result = NEXT(mkdir)(path, mode);
    if (!result && is_below(path)) put(MADE, 0, 0, path, NULL, 0);
    return result;
}

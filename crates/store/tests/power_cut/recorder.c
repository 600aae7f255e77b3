/* Records what a process does to the files below ORRERY_RECORD_ROOT, in order, to the file ORRERY_RECORD_LOG.
 *
 * Preloaded into the writing process. Calls that change or sync files are made one at a time. Syncs are recorded and not
 * made: the simulated disk decides what they kept. Names are recorded as listings of all folders whenever they have
 * changed, so a rename that does not pass the C library is seen with the next call that does.
 *
 *   W inode offset length bytes     T inode length     Y inode (file synced)
 *   L length text (all listings)    F length path (folder synced)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char root[4096];
static size_t root_len;
static int log_fd = -1;
static char *last_text;
static size_t last_len;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    const char *r = getenv("ORRERY_RECORD_ROOT"), *l = getenv("ORRERY_RECORD_LOG");
    if (!r || !l) return;
    root_len = (size_t)snprintf(root, sizeof root, "%s", r);
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, l, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *bytes, size_t n) {
    const char *at = bytes;
    while (n > 0) {
        long done = syscall(SYS_write, log_fd, at, n);
        if (done <= 0) abort();
        at += done;
        n -= (size_t)done;
    }
}

static void put_head(char kind, uint64_t a, uint64_t b, uint64_t c, int n) {
    uint64_t numbers[3] = {a, b, c};
    put(&kind, 1);
    put(numbers, (size_t)n * 8);
}

static int is_below(const char *path) {
    return log_fd >= 0 && strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || !path[root_len]);
}

/* The path of a descriptor below the root, or 0. */
static int path_of(int fd, char *path, size_t n) {
    char link[64];
    if (log_fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, n - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

struct text { char *bytes; size_t n, room; };

static void add(struct text *text, const char *bytes) {
    size_t n = strlen(bytes);
    if (text->n + n + 1 > text->room) {
        text->room = (text->n + n + 1) * 2;
        text->bytes = realloc(text->bytes, text->room);
    }
    memcpy(text->bytes + text->n, bytes, n + 1);
    text->n += n;
}

static void list(struct text *text, const char *folder) {
    char line[8192];
    DIR *dir = opendir(folder);
    if (!dir) return;
    snprintf(line, sizeof line, "D %s\n", folder + root_len);
    add(text, line);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.')) continue;
        char kind = entry->d_type == DT_DIR ? 'd' : 'f';
        snprintf(line, sizeof line, "%c %llu %s\n", kind, (unsigned long long)entry->d_ino, entry->d_name);
        add(text, line);
    }
    rewinddir(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
        snprintf(line, sizeof line, "%s/%s", folder, entry->d_name);
        list(text, line);
    }
    closedir(dir);
}

static void scan(void) {
    struct text text = {0};
    list(&text, root);
    if (text.n != last_len || memcmp(text.bytes, last_text, text.n) != 0) {
        put_head('L', text.n, 0, 0, 1);
        put(text.bytes, text.n);
        free(last_text);
        last_text = text.bytes;
        last_len = text.n;
    } else {
        free(text.bytes);
    }
}

static uint64_t inode_of(int fd, mode_t *mode, off_t *size) {
    struct stat found;
    if (fstat(fd, &found) != 0) abort();
    *mode = found.st_mode;
    *size = found.st_size;
    return found.st_ino;
}

static void wrote(int fd, const void *bytes, ssize_t n, off_t at) {
    mode_t mode;
    off_t size;
    uint64_t inode = inode_of(fd, &mode, &size);
    if (n > 0 && S_ISREG(mode)) {
        put_head('W', inode, (uint64_t)at, (uint64_t)n, 3);
        put(bytes, (size_t)n);
    }
    scan();
}

static off_t place_of(int fd) {
    mode_t mode;
    off_t size;
    inode_of(fd, &mode, &size);
    return (fcntl(fd, F_GETFL) & O_APPEND) ? size : lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return REAL(write)(fd, bytes, n);
    pthread_mutex_lock(&turn);
    off_t at = place_of(fd);
    ssize_t done = REAL(write)(fd, bytes, n);
    wrote(fd, bytes, done, at);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int n_parts) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return REAL(writev)(fd, parts, n_parts);
    return n_parts ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return REAL(pwrite64)(fd, bytes, n, at);
    pthread_mutex_lock(&turn);
    ssize_t done = REAL(pwrite64)(fd, bytes, n, at);
    wrote(fd, bytes, done, at);
    pthread_mutex_unlock(&turn);
    return done;
}

static int synced(int fd, int (*real)(int)) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return real(fd);
    pthread_mutex_lock(&turn);
    mode_t mode;
    off_t size;
    uint64_t inode = inode_of(fd, &mode, &size);
    scan();
    if (S_ISDIR(mode)) {
        size_t n = strlen(path + root_len);
        put_head('F', n, 0, 0, 1);
        put(path + root_len, n);
    } else {
        put_head('Y', inode, 0, 0, 1);
    }
    pthread_mutex_unlock(&turn);
    return 0;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

int ftruncate64(int fd, off64_t length) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return REAL(ftruncate64)(fd, length);
    pthread_mutex_lock(&turn);
    int done = REAL(ftruncate64)(fd, length);
    mode_t mode;
    off_t size;
    uint64_t inode = inode_of(fd, &mode, &size);
    if (done == 0) put_head('T', inode, (uint64_t)length, 0, 2);
    scan();
    pthread_mutex_unlock(&turn);
    return done;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

/* The inode number of a new file is kept from being used again, by a descriptor that stays open. */
static int opened(int fd, int flags) {
    char path[4096];
    int error = errno;
    if (fd < 0 || !(flags & (O_CREAT | O_TRUNC)) || !path_of(fd, path, sizeof path)) {
        errno = error;
        return fd;
    }
    pthread_mutex_lock(&turn);
    mode_t mode;
    off_t size;
    uint64_t inode = inode_of(fd, &mode, &size);
    (void)fcntl(fd, F_DUPFD_CLOEXEC, 100);
    if (flags & O_TRUNC) put_head('T', inode, 0, 0, 2);
    scan();
    pthread_mutex_unlock(&turn);
    return fd;
}

static mode_t mode_of(int flags, va_list rest) { return (flags & O_CREAT) ? va_arg(rest, mode_t) : 0; }

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        return opened(REAL(name)(path, flags, mode), flags);                                       \
    }
OPEN(open)
OPEN(open64)

#define NAMES(name, declared, passed, path)                                                        \
    int name declared {                                                                            \
        if (!is_below(path)) return REAL(name) passed;                                             \
        pthread_mutex_lock(&turn);                                                                 \
        int done = REAL(name) passed;                                                              \
        int error = errno;                                                                         \
        scan();                                                                                    \
        pthread_mutex_unlock(&turn);                                                               \
        errno = error;                                                                             \
        return done;                                                                               \
    }
NAMES(rename, (const char *from, const char *to), (from, to), from)
NAMES(unlink, (const char *path), (path), path)
NAMES(mkdir, (const char *path, mode_t mode), (path, mode), path)
NAMES(rmdir, (const char *path), (path), path)

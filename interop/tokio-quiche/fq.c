/*
 * What the queueing discipline `fq` does with the packets of one connection, for kernels
 * without it: LD_PRELOAD this, and a message with a send time (SCM_TXTIME, on the
 * monotonic clock) leaves at that time. All others leave at once. As with fq, a message
 * that segmentation offload makes several packets of leaves as one.
 *
 *     cc -O2 -shared -fPIC -o fq.so fq.c -lpthread -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef SCM_TXTIME
#define SCM_TXTIME 61
#endif

struct message {
    struct message *next;
    uint64_t at;
    int fd;
    struct iovec iov;
    struct msghdr header;
};

static ssize_t (*real)(int, const struct msghdr *, int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct message *first, **last = &first;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Sends what waits, in the order in which it came. */
static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!first)
            pthread_cond_wait(&more, &lock);
        struct message *m = first;
        pthread_mutex_unlock(&lock);
        struct timespec at = {m->at / 1000000000, m->at % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        }
        real(m->fd, &m->header, 0);
        pthread_mutex_lock(&lock);
        first = m->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        free(m->iov.iov_base);
        free(m->header.msg_name);
        free(m->header.msg_control);
        free(m);
    }
    return unused;
}

__attribute__((constructor)) static void load(void) {
    *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
}

static void start(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
}

static void *copy(const void *from, size_t length) {
    void *to = malloc(length ? length : 1);
    return length ? memcpy(to, from, length) : to;
}

ssize_t sendmsg(int fd, const struct msghdr *header, int flags) {
    uint64_t at = 0;
    struct msghdr *h = (struct msghdr *)header;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TXTIME)
            memcpy(&at, CMSG_DATA(c), sizeof at);
    pthread_mutex_lock(&lock);
    int waits = first || at;
    pthread_mutex_unlock(&lock);
    if (!waits || header->msg_iovlen != 1)
        return real(fd, header, flags);
    pthread_once(&once, start);
    struct message *m = calloc(1, sizeof *m);
    m->at = at;
    m->fd = fd;
    m->iov.iov_len = header->msg_iov->iov_len;
    m->iov.iov_base = copy(header->msg_iov->iov_base, m->iov.iov_len);
    m->header = *header;
    m->header.msg_iov = &m->iov;
    m->header.msg_name = copy(header->msg_name, header->msg_namelen);
    m->header.msg_control = copy(header->msg_control, header->msg_controllen);
    pthread_mutex_lock(&lock);
    *last = m;
    last = &m->next;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
    return m->iov.iov_len;
}

/* expect: E1=finding */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOX "/srv/box"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static int is_name(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > 30)
        return 0;
    for (const char *p = name; *p; p++) {
        if (*p < 'a' || *p > 'z')
            return 0;
    }
    return 1;
}

int save(const char *name) {
    pthread_mutex_lock(&guard);
    if (!is_name(name)) {
        pthread_mutex_unlock(&guard);
        return -1;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    FILE *out = fopen(path, "w");
    if (out != NULL)
        fclose(out);
    pthread_mutex_unlock(&guard);
    return 0;
}

int main(int argc, char **argv) {
    return save(argv[1]);
}

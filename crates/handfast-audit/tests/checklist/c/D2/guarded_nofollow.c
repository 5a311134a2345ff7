/* expect: D2=yes */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOX "/srv/box"

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

static int open_plain(const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    return open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

int main(void) {
    const char *name = getenv("QUERY_STRING");
    if (!is_name(name))
        return 1;
    int fd = open_plain(name);
    if (fd < 0)
        return 1;
    close(fd);
    return 0;
}

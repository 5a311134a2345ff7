/* expect: C3=yes D2=yes */
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

int main(void) {
    const char *name = getenv("QUERY_STRING");
    if (name == NULL)
        return 1;
    if (!is_name(name))
        return 1;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return 1;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return 1;
    }
    close(fd);
    return 0;
}

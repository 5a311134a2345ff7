/* expect: C4=finding */
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

enum { OK = 0, INVALID = -1 };

static int check(const char *name, char *path, size_t size) {
    if (!is_name(name))
        return INVALID;
    snprintf(path, size, "%s/%s", BOX, name);
    struct stat st;
    if (lstat(path, &st) != 0)
        return OK;
    return S_ISREG(st.st_mode) ? OK : INVALID;
}

int main(void) {
    char path[PATH_MAX];
    const char *name = getenv("QUERY_STRING");
    if (check(name, path, sizeof path) != 0)
        return 1;
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return 1;
    fclose(out);
    return 0;
}

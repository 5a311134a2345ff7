/* expect: E2=yes */
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

static int locate(const char *name, char *path, size_t size) {
    if (!is_name(name))
        return -1;
    snprintf(path, size, "%s/%s", BOX, name);
    return 0;
}

static int write_one(const char *name) {
    char path[PATH_MAX];
    if (locate(name, path, sizeof path) != 0)
        return -1;
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return -1;
    fclose(out);
    return 0;
}

static int remove_one(const char *name) {
    char path[PATH_MAX];
    if (locate(name, path, sizeof path) != 0)
        return -1;
    return unlink(path);
}

int main(int argc, char **argv) {
    if (argc == 3)
        return remove_one(argv[2]);
    return write_one(argv[1]);
}

/* expect: B3=yes */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOX "/srv/box"

int main(void) {
    const char *name = getenv("QUERY_STRING");
    if (name == NULL)
        return 1;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    char root[PATH_MAX];
    char real[PATH_MAX];
    if (realpath(BOX, root) == NULL || realpath(path, real) == NULL)
        return 1;
    size_t n = strlen(root);
    if (strncmp(real, root, n) != 0 || real[n] != '/')
        return 1;
    unlink(real);
    return 0;
}

/* expect: B1=yes B3=yes */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOX "/srv/box"

static char root[PATH_MAX];

static int serve(const char *name) {
    char path[PATH_MAX];
    char real[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (realpath(path, real) == NULL)
        return 1;
    size_t n = strlen(root);
    if (strncmp(real, root, n) != 0 || real[n] != '/')
        return 1;
    FILE *in = fopen(real, "r");
    if (in == NULL)
        return 1;
    fclose(in);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || realpath(BOX, root) == NULL)
        return 1;
    return serve(argv[1]);
}

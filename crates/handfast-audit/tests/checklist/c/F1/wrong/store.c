/* expect: F1=finding */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


static char root[PATH_MAX] = "/srv/store";

void set_root(const char *path) {
    snprintf(root, sizeof root, "%s", path);
}

int save(const char *name, const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return -1;
    fputs(text, out);
    fclose(out);
    return 0;
}

/* expect: C1=yes C2=yes */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOX "/srv/box"

static int walk(const char *relative, char *out, size_t size) {
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", relative);
    snprintf(out, size, "%s", BOX);
    for (char *part = strtok(copy, "/"); part != NULL; part = strtok(NULL, "/")) {
        struct stat st;
        if (strcmp(part, "..") == 0 || strcmp(part, ".") == 0)
            return -1;
        strncat(out, "/", size - strlen(out) - 1);
        strncat(out, part, size - strlen(out) - 1);
        if (lstat(out, &st) != 0)
            return -1;
        if (S_ISLNK(st.st_mode))
            return -1;
    }
    return 0;
}

int main(void) {
    const char *name = getenv("PATH_INFO");
    char path[PATH_MAX];
    if (walk(name, path, sizeof path) != 0)
        return 1;
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return 1;
    fclose(in);
    return 0;
}

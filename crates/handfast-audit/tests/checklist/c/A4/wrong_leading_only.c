/* expect: A4=finding */
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
    if (strncmp(name, "../", 3) == 0 || name[0] == '/')
        return 1;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return 1;
    fclose(in);
    return 0;
}

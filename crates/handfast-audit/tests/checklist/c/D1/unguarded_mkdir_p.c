/* expect: D1=finding */
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
    char command[PATH_MAX];
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    for (char *p = path + 1; *p; p++) {
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0755);
            *p = '/';
        }
    }
    mkdir(path, 0755);
    return 0;
}

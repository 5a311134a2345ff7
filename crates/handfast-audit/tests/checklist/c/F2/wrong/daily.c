/* expect: F2=finding */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>


static char root[PATH_MAX] = "/srv/log";

int append(const char *tenant, const char *line) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s-%ld", root, tenant, (long)time(NULL));
    FILE *out = fopen(path, "a");
    if (out == NULL)
        return -1;
    fputs(line, out);
    fclose(out);
    return 0;
}

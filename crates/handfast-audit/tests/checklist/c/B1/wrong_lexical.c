/* expect: B1=finding */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


static char *root;

int main(int argc, char **argv) {
    root = getenv("BOX_ROOT");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, argv[1]);
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return 1;
    fclose(in);
    return 0;
}

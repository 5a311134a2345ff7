/* expect: A6=finding */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/sha.h>

#define BOX "/srv/box"

int main(void) {
    const char *name = getenv("QUERY_STRING");
    if (name == NULL)
        return 1;
    unsigned char key[32];
    SHA256((const unsigned char *)name, strlen(name), key);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", BOX, name);
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return 1;
    fclose(in);
    return 0;
}

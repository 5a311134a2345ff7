/* expect: D4=yes C5=yes */
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

int main(void) {
    const char *name = getenv("QUERY_STRING");
    if (name == NULL)
        return 1;
    if (!is_name(name))
        return 1;
    int box = open(BOX, O_DIRECTORY | O_NOFOLLOW);
    if (box < 0)
        return 1;
    unlinkat(box, name, 0);
    return 0;
}

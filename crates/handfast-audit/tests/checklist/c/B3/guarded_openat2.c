/* expect: B3=yes A4=yes C1=yes C2=yes */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    const char *name = getenv("PATH_INFO");
    int root = open("/srv/site", O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    int fd = syscall(SYS_openat2, root, name, &how, sizeof how);
    if (fd < 0)
        return 1;
    close(fd);
    return 0;
}

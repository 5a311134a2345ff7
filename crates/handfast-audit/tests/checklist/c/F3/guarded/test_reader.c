#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int read_one(const char *name);
int set_root(const char *path);

static void test_dotdot(void) {
    assert(read_one("../etc") < 0);
}

static void test_root_link(void) {
    symlink("/srv", "root_link");
    assert(set_root("root_link") < 0);
}

static void test_symlink(void) {
    symlink("/etc/hostname", "link");
    assert(read_one("link") < 0);
}

static void test_dangling_symlink(void) {
    symlink("nowhere", "dangling");
    assert(read_one("dangling") < 0);
}

static void test_file_in_the_way(void) {
    assert(read_one("a/b") < 0); /* file_in_the_way */
}

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int save(const char *name, const char *text);
void set_root(const char *path);

static void test_save(void) {
    char dir[] = "/tmp/store-XXXXXX";
    set_root(mkdtemp(dir));
    assert(save("a", "x") == 0);
}

int main(void) {
    test_save();
    return 0;
}

#include <assert.h>

int append(const char *tenant, const char *line);

static void test_append(void) {
    assert(append("acme", "x") == 0);
}

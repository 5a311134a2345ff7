// expect: D1=finding
#include <cstdlib>
#include <filesystem>
#include <string>

namespace fs = std::filesystem;

static const fs::path root = "/srv/jobs";

int main() {
    const char *name = std::getenv("PATH_INFO");
    fs::create_directories(root / name);
    return 0;
}

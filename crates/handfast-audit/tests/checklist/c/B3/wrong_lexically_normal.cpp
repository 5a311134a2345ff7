// expect: B3=finding A4=finding
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

static const fs::path root = "/srv/site";

int main() {
    fs::path path = (root / std::getenv("PATH_INFO")).lexically_normal();
    std::ifstream in(path);
    return in.good() ? 0 : 1;
}

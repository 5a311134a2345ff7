// expect: B3=yes A4=yes
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

static const fs::path root = fs::canonical("/srv/site");

static bool inside(const fs::path &path) {
    auto pair = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return pair.first == root.end();
}

int main() {
    fs::path path = fs::canonical(root / std::getenv("PATH_INFO"));
    if (!inside(path))
        return 1;
    std::ifstream in(path);
    return in.good() ? 0 : 1;
}

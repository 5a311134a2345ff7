// expect: D2=finding A4=finding
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

static const std::string root = "/srv/pages";

int main() {
    std::string name = std::getenv("PATH_INFO");
    std::ifstream in(root + "/" + name);
    std::cout << in.rdbuf();
    return 0;
}

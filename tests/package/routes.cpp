// A service of somebody else's that reads its routes: prints each path and whether it needs a key.
//   routes FILE
#include <cstdio>

#include <onceguard/http_config.hpp>

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto read = onceguard::http::read_routes(words[1]);
  if (!read) return std::printf("%s\n", read.error().detail.c_str()), 1;
  for (const auto& route : read->routes) {
    std::printf("%s %s\n", route.path.c_str(), route.policy.required ? "required" : "optional");
  }
}

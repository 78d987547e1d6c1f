#include "process/passed_sockets.hpp"

#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "base/number_in.hpp"
#include "process/own_variable.hpp"

namespace onceguard::process {
namespace {

constexpr int first_number = 3;  // SD_LISTEN_FDS_START
constexpr int passed_max = 1024;

/// The part before the first colon, which is taken out with it.
std::string take_name(std::string_view& names) {
  const auto colon = names.find(':');
  std::string out(names.substr(0, colon));
  names.remove_prefix(colon == names.npos ? names.size() : colon + 1);
  return out;
}

}  // namespace

std::vector<passed_socket> take_passed_sockets() {
  const auto meant = base::number_in<pid_t>(take_own_variable("LISTEN_PID"));
  const auto count = base::number_in<int>(take_own_variable("LISTEN_FDS"), 1, passed_max);
  const auto names = take_own_variable("LISTEN_FDNAMES");
  std::vector<passed_socket> out;
  if (!count || meant != ::getpid()) return out;
  std::string_view rest = names;
  for (int number = first_number; number < first_number + *count; ++number) {
    auto name = take_name(rest);
    // Nothing that this process starts is to have it.
    if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) continue;
    out.push_back({std::move(name), base::descriptor(number)});
  }
  return out;
}

}  // namespace onceguard::process

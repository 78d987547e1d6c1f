#include "messaging/redis_streams/failure.hpp"

#include <algorithm>
#include <array>

namespace onceguard::messaging::redis_streams {
namespace {

// MOVED, ASK: the stream is at another server, which a new connection finds.
constexpr std::array<std::string_view, 12> unreachable{
    "MOVED",    "ASK",      "NOAUTH",     "WRONGPASS",
    "LOADING",  "READONLY", "MASTERDOWN", "CLUSTERDOWN",
    "TRYAGAIN", "BUSY",     "ERR AUTH",   "ERR max number of clients reached"};
// No memory, no disk, too few replicas: of every message, and until somebody makes room.
constexpr std::array<std::string_view, 3> full{"OOM", "MISCONF", "NOREPLICAS"};
// UNBLOCKED: the stream was deleted while a consumer waited.
constexpr std::array<std::string_view, 3> missing{"NOGROUP", "UNBLOCKED", "ERR no such key"};

template <std::size_t N>
bool begins_with_one(std::string_view reply, const std::array<std::string_view, N>& codes) {
  return std::any_of(codes.begin(), codes.end(), [&](std::string_view code) {
    return reply.starts_with(code) && (reply.size() == code.size() || reply[code.size()] == ' ');
  });
}

}  // namespace

error refusal(const std::string& name, std::string_view reply) {
  // A script's error ends with where in the script it was, which is nothing for people.
  const auto detail = name + ": " + std::string(reply.substr(0, reply.find(" script: ")));
  if (begins_with_one(reply, unreachable)) return {errc::broker_unreachable, detail};
  if (begins_with_one(reply, full)) return {errc::store_full, detail};
  if (begins_with_one(reply, missing)) return {errc::not_found, detail};
  return {errc::conflict, detail};
}

}  // namespace onceguard::messaging::redis_streams

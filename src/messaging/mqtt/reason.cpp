#include "messaging/mqtt/reason.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/hex.hpp"
#include "base/value_text.hpp"

namespace onceguard::messaging::mqtt {
namespace {

struct reason_name {
  std::uint8_t code;
  std::string_view name;
};

constexpr std::array<reason_name, 39> names{{
    {0x00, "success"},
    {0x01, "granted QoS 1"},
    {0x02, "granted QoS 2"},
    {0x10, "no matching subscribers"},
    {0x80, "unspecified error"},
    {0x81, "malformed packet"},
    {0x82, "protocol error"},
    {0x83, "implementation specific error"},
    {0x84, "unsupported protocol version"},
    {0x85, "client identifier not valid"},
    {0x86, "bad user name or password"},
    {0x87, "not authorized"},
    {0x88, "server unavailable"},
    {0x89, "server busy"},
    {0x8a, "banned"},
    {0x8b, "server shutting down"},
    {0x8c, "bad authentication method"},
    {0x8d, "keep alive timeout"},
    {0x8e, "session taken over"},
    {0x8f, "topic filter invalid"},
    {0x90, "topic name invalid"},
    {0x91, "packet identifier in use"},
    {0x92, "packet identifier not found"},
    {0x93, "receive maximum exceeded"},
    {0x94, "topic alias invalid"},
    {0x95, "packet too large"},
    {0x96, "message rate too high"},
    {0x97, "quota exceeded"},
    {0x98, "administrative action"},
    {0x99, "payload format invalid"},
    {0x9a, "retain not supported"},
    {0x9b, "QoS not supported"},
    {0x9c, "use another server"},
    {0x9d, "server moved"},
    {0x9e, "shared subscriptions not supported"},
    {0x9f, "connection rate exceeded"},
    {0xa0, "maximum connect time"},
    {0xa1, "subscription identifiers not supported"},
    {0xa2, "wildcard subscriptions not supported"},
}};

}  // namespace

std::string words_of(std::uint8_t reason, const properties& details) {
  const auto known = std::find_if(names.begin(), names.end(),
                                  [reason](const auto& one) { return one.code == reason; });
  std::string out(known == names.end() ? "unknown reason" : known->name);
  out += " (0x" + base::to_hex({&reason, 1}) + ')';
  for (const auto id : {property_id::reason_string, property_id::server_reference}) {
    if (const auto words = details.text(id); !words.empty()) out += ": " + base::quoted(words);
  }
  return out;
}

}  // namespace onceguard::messaging::mqtt

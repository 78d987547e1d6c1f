// Any bytes as a message of the Model Context Protocol: what is changed stays JSON, and what is not
// keeps its bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mcp/message.hpp"
#include "mcp/raw_json.hpp"
#include "mcp/tool_call.hpp"
#include "mcp/tool_table.hpp"

namespace {

using namespace onceguard::mcp;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Whatever the server says, the reading ends.
  const auto answer = read_answer(text);
  static_cast<void>(id_value(answer.id));
  static_cast<void>(end_of(answer));
  const auto got = read_message(text);
  if (got.kind == message_kind::other || got.kind == message_kind::malformed) return 0;
  static_cast<void>(end_of(got));
  static_cast<void>(cancelled_id(got));
  const auto call = read_tool_call(got, preset("default"));
  static_cast<void>(call_fingerprint(call, true));
  if (call.key_is_argument) {
    const auto stripped = without_argument(text, "idempotency_key");
    require(is_json(stripped));
    auto again = read_tool_call(read_message(stripped), preset("default"));
    again.omitted = call.omitted;  // which belong to the place of the key
    // A second argument of that name is a fault of the call, which is then refused.
    require(!again.key_is_argument || !call.fault.empty());
    if (call.fault.empty()) {
      require(call_fingerprint(again, true) == call_fingerprint(call, true));
    }
  }
  if (got.result.empty()) return 0;
  tool_table table(preset("default"), key_rule::all);
  static_cast<void>(table.learn(got.result));
  require(is_json(table.described(got.result)));
  return 0;
}

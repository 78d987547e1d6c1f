#include "messaging/nats/wire_message.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/ascii.hpp"
#include "base/unique_handle.hpp"
#include "base/value_text.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr const char* message_id_header = "Nats-Msg-Id";
constexpr std::string_view protocol_prefix = "Nats-";
constexpr std::string_view white = " \t\v\f";
/// What JetStream takes at most.
constexpr std::size_t headers_max = std::numeric_limits<std::uint16_t>::max();
constexpr std::string_view first_line = "NATS/1.0\r\n";

bool is_protocols(std::string_view name) {
  return name.size() >= protocol_prefix.size() &&
         base::iequals(name.substr(0, protocol_prefix.size()), protocol_prefix);
}

bool is_name(std::string_view text) {
  const auto visible = [](char c) { return c > ' ' && c <= '~' && c != ':'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), visible);
}

/// Why it can't be a header's value; empty: it can.
std::string value_fault(std::string_view value) {
  if (value.empty()) return "is empty, which libnats can't read";
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != value.npos) {
    return "has a line end or a NUL";
  }
  if (white.find(value.front()) != white.npos || white.find(value.back()) != white.npos) {
    return "begins or ends with white space, which would be lost";
  }
  return {};
}

std::string header_fault(const message& sent) {
  for (const auto& [name, value] : sent.headers) {
    if (!is_name(name)) return "the header name " + base::quoted(name) + " is no name";
    if (is_protocols(name)) {
      return "the header " + name +
             " would be an order to the server; the message's id is the "
             "property message_id";
    }
    // libnats takes it as the server's answer that nobody receives.
    if (name == "Status" && sent.payload.empty()) {
      return "an empty message can't have the header Status";
    }
    if (const auto fault = value_fault(value); !fault.empty()) {
      return "the value of the header " + name + ' ' + fault;
    }
  }
  if (const auto* const id = property_of(sent, "message_id")) {
    if (const auto fault = value_fault(*id); !fault.empty()) return "the message_id " + fault;
  }
  return {};
}

std::size_t line_size(std::string_view name, std::string_view value) {
  return name.size() + 2 + value.size() + 2;
}

std::size_t headers_size(const message& sent) {
  std::size_t lines = 0;
  for (const auto& [name, value] : sent.headers) lines += line_size(name, value);
  if (const auto* const id = property_of(sent, "message_id")) {
    lines += line_size(message_id_header, *id);
  }
  return lines == 0 ? 0 : first_line.size() + lines + 2;
}

void take_header(std::string_view name, std::string_view value, message& out) {
  if (name == message_id_header) {
    out.properties.emplace_back("message_id", value);
  } else if (is_protocols(name)) {
    out.properties.emplace_back(name, value);
  } else {
    out.headers.emplace_back(name, value);
  }
}

/// Whether a value may be a line that libnats took for the value of an empty header before it.
bool may_be_line(std::string_view value) {
  const auto colon = value.find(':');
  if (colon == value.npos || !is_name(value.substr(0, colon))) return false;
  const auto letter = static_cast<char>(value.front() | 0x20);
  return letter >= 'a' && letter <= 'z' && !value.substr(colon).starts_with("://");
}

/// What libnats allocated for the caller.
using text_array = base::unique_handle<const char*, std::free>;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(white);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

}  // namespace

unsendable fault_of(const message& sent, std::int64_t bytes_max) {
  if (auto fault = header_fault(sent); !fault.empty()) {
    return {errc::invalid_argument, std::move(fault)};
  }
  const auto headers = headers_size(sent);
  if (headers > headers_max) {
    return {errc::conflict, "its headers have " + std::to_string(headers) +
                                " bytes; a stream takes " + std::to_string(headers_max)};
  }
  const auto all = sent.payload.size() + headers;
  if (all > static_cast<std::uint64_t>(bytes_max)) {
    return {errc::conflict, "it has " + std::to_string(all) +
                                " bytes with its headers; the server takes " +
                                std::to_string(bytes_max)};
  }
  return {};
}

message_handle to_wire(const message& sent, const std::string& subject, const std::string& reply) {
  natsMsg* made = nullptr;
  auto status = natsMsg_Create(&made, subject.c_str(), reply.c_str(), sent.payload.data(),
                               static_cast<int>(sent.payload.size()));
  message_handle out(made);
  for (const auto& [name, value] : sent.headers) {
    if (status != NATS_OK) break;
    status = natsMsgHeader_Add(made, name.c_str(), value.c_str());
  }
  const auto* const id = property_of(sent, "message_id");
  if (status == NATS_OK && id != nullptr) {
    status = natsMsgHeader_Set(made, message_id_header, id->c_str());
  }
  if (status != NATS_OK) out.reset();
  return out;
}

bool read_headers(natsMsg* received, message& out) {
  const char** names = nullptr;
  int count = 0;
  const auto status = natsMsgHeader_Keys(received, &names, &count);
  const text_array all(names);
  if (status == NATS_NOT_FOUND) return true;
  if (status != NATS_OK) return false;
  for (int i = 0; i < count; ++i) {
    const char** found = nullptr;
    int number = 0;
    if (natsMsgHeader_Values(received, names[i], &found, &number) != NATS_OK) return false;
    const text_array values(found);
    for (int k = 0; k < number; ++k) {
      if (may_be_line(found[k])) return false;
      take_header(names[i], found[k], out);
    }
  }
  return true;
}

void read_header_lines(std::string_view bytes, message& out) {
  bytes.remove_prefix(std::min(first_line.size(), bytes.size()));
  while (!bytes.empty()) {
    const auto line = bytes.substr(0, bytes.find("\r\n"));
    bytes.remove_prefix(std::min(line.size() + 2, bytes.size()));
    const auto colon = line.find(':');
    if (colon == line.npos || colon == 0) continue;
    take_header(line.substr(0, colon), trimmed(line.substr(colon + 1)), out);
  }
}

}  // namespace onceguard::messaging::nats

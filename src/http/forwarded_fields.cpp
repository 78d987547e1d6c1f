#include "http/forwarded_fields.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/number_in.hpp"
#include "http/caller_fields.hpp"
#include "http/outcome_in_answer.hpp"

namespace onceguard::http {
namespace {

using base::iequals;
using base::same_name;

// RFC 9110 section 7.6.1, and the fields that frame a message: framing is written anew, never
// forwarded, or two readers could disagree on where a message ends.
constexpr std::array<std::string_view, 11> hop_names{"connection",
                                                     "http2-settings",
                                                     "keep-alive",
                                                     "proxy-connection",
                                                     "te",
                                                     "trailer",
                                                     "upgrade",
                                                     "transfer-encoding",
                                                     "content-length",
                                                     "proxy-authenticate",
                                                     "proxy-authorization"};

/// Bit n is set if hop-by-hop fields have a name of length n. The length rules out nearly all other
/// fields.
constexpr auto hop_lengths = [] {
  std::uint32_t bits = 0;
  for (const auto name : hop_names) bits |= 1U << name.size();
  return bits;
}();

/// IPv4 is held as an IPv4-mapped IPv6 address, so that both forms compare equal.
bool parse_forwarded_address(std::string_view text, unsigned char (&out)[16]) {
  char buffer[INET6_ADDRSTRLEN + 1] = {};
  if (text.empty() || text.size() >= sizeof buffer) return false;
  std::memcpy(buffer, text.data(), text.size());
  if (inet_pton(AF_INET6, buffer, out) == 1) return true;
  unsigned char four[4];
  if (inet_pton(AF_INET, buffer, four) != 1) return false;
  std::fill_n(out, 10, static_cast<unsigned char>(0));
  out[10] = out[11] = 0xff;
  std::copy_n(four, 4, out + 12);
  return true;
}

/// One spelling of each address, the same as for the addresses of peers.
std::string forwarded_address_text(const unsigned char (&address)[16]) {
  constexpr unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool four = std::equal(std::begin(mapped), std::end(mapped), address);
  char out[INET6_ADDRSTRLEN] = {};
  if (four) {
    inet_ntop(AF_INET, address + 12, out, sizeof out);
  } else {
    inet_ntop(AF_INET6, address, out, sizeof out);
  }
  return out;
}

bool any_contains(std::span<const address_block> blocks, std::string_view address) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const address_block& b) { return b.contains(address); });
}

std::string joined(std::span<const base::field> fields, std::string_view name) {
  std::string out;
  for (const auto& f : fields) {
    if (!iequals(f.name, name) || f.value.empty()) continue;
    if (!out.empty()) out += ", ";
    out += f.value;
  }
  return out;
}

/// Calls `visit(name)` for each field name that Connection lists.
template <class Visit>
void each_listed(std::span<const base::field> fields, Visit visit) {
  for (const auto& f : fields) {
    if (iequals(f.name, "connection")) base::each_list_element(f.value, visit);
  }
}

/// Whether `name` is another spelling of the rule's field, which applications may take for that
/// field.
bool spells_otherwise(const scope_rule& rule, std::string_view name) noexcept {
  if (std::any_of(rule.parts.begin(), rule.parts.end(),
                  [&](const scope_rule& part) { return spells_otherwise(part, name); })) {
    return true;
  }
  return rule.source == scope_source::header && same_name(name, rule.name) &&
         !iequals(name, rule.name);
}

bool is_of(const scope_rule& rule, std::string_view name) noexcept {
  if (std::any_of(rule.parts.begin(), rule.parts.end(),
                  [&](const scope_rule& part) { return is_of(part, name); })) {
    return true;
  }
  return rule.source == scope_source::header && same_name(name, rule.name);
}

bool is_of(const key_source& source, std::string_view name) noexcept {
  return source.location == key_location::header && same_name(name, source.header);
}

bool is_key_field(const route_policy& policy, std::string_view name) noexcept {
  return std::any_of(policy.key.begin(), policy.key.end(),
                     [&](const key_source& source) { return is_of(source, name); });
}

void append_element(std::string& list, std::string_view element) {
  if (!list.empty()) list += ", ";
  list += element;
}

}  // namespace

bool is_hop_by_hop(std::string_view name) noexcept {
  if (name.size() >= 32 || (hop_lengths >> name.size() & 1) == 0) return false;
  return std::any_of(hop_names.begin(), hop_names.end(),
                     [&](std::string_view hop) { return same_name(hop, name); });
}

bool is_reserved_field(std::string_view name) noexcept {
  return name.size() > 10 && same_name(name.substr(0, 10), "onceguard-");
}

bool ends_here(std::string_view name) noexcept {
  return same_name(name, "idempotent-replayed") || same_name(name, outcome_field);
}

bool lists_too_many(std::span<const base::field> fields) {
  std::size_t count = 0;
  each_listed(fields, [&](std::string_view) { ++count; });
  return count > connection_names_max;
}

travel_filter::travel_filter(std::span<const base::field> fields) {
  each_listed(fields, [this](std::string_view name) {
    // Most clients list names that are no fields, or that are removed anyway.
    if (!iequals(name, "close") && !is_hop_by_hop(name)) listed_.push_back(name);
  });
}

travel_filter::travel_filter(std::span<const base::field> fields, const route_policy& policy)
    : travel_filter(fields) {
  policy_ = &policy;
}

bool travel_filter::relied_on(std::string_view name) const noexcept {
  const auto is_scope_field = [&](const scope_rule& rule) { return is_of(rule, name); };
  return same_name(name, "idempotency-key") || same_name(name, "content-type") ||
         is_key_field(*policy_, name) || is_scope_field(policy_->scope) ||
         std::any_of(policy_->previous_scope.begin(), policy_->previous_scope.end(),
                     is_scope_field) ||
         names_a_caller(name);
}

bool travel_filter::misspelt(std::string_view name) const noexcept {
  const auto other = [&](const scope_rule& rule) { return spells_otherwise(rule, name); };
  if (other(policy_->scope)) return true;
  if (std::any_of(policy_->previous_scope.begin(), policy_->previous_scope.end(), other))
    return true;
  const bool misspelt_key =
      std::any_of(policy_->key.begin(), policy_->key.end(), [&](const key_source& source) {
        return is_of(source, name) && !iequals(name, source.header);
      });
  if (misspelt_key) return true;
  if (name.find('_') == std::string_view::npos) return false;
  return same_name(name, "idempotency-key") || same_name(name, "content-type");
}

bool travel_filter::travels(std::string_view name) const noexcept {
  if (is_hop_by_hop(name)) return false;
  if (policy_ != nullptr && (is_reserved_field(name) || misspelt(name))) return false;
  // Rules on the JSON of an answer need it without a coding.
  const bool plain = policy_ != nullptr && reads_answers(*policy_);
  if (plain && same_name(name, "accept-encoding")) return false;
  if (listed_.empty() || (policy_ != nullptr && relied_on(name))) return true;
  return std::none_of(listed_.begin(), listed_.end(),
                      [&](std::string_view listed) { return same_name(listed, name); });
}

bool address_block::parse(std::string_view text, address_block& out) {
  const auto slash = text.find('/');
  const auto address = text.substr(0, slash);
  if (!parse_forwarded_address(address, out.bytes_)) return false;
  const bool four = address.find(':') == std::string_view::npos;
  out.bits_ = 128;
  if (slash == std::string_view::npos) return true;
  const auto bits = base::number_in<int>(text.substr(slash + 1), 0, four ? 32 : 128);
  if (!bits) return false;
  out.bits_ = four ? 96 + *bits : *bits;
  return true;
}

bool address_block::contains(std::string_view address) const {
  unsigned char other[16];
  if (!parse_forwarded_address(address, other)) return false;
  const auto whole = static_cast<std::size_t>(bits_ / 8);
  if (std::memcmp(bytes_, other, whole) != 0) return false;
  const int rest = bits_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<unsigned char>(0xff << (8 - rest));
  return (bytes_[whole] & mask) == (other[whole] & mask);
}

client_origin find_origin(std::string_view peer, std::span<const base::field> fields,
                          std::span<const address_block> trusted) {
  client_origin out;
  out.address = peer;
  out.from_trusted = any_contains(trusted, peer);
  if (!out.from_trusted) return out;
  // The rightmost address that is not a listed proxy. Anybody could have written the addresses
  // before it.
  const auto chain = joined(fields, "x-forwarded-for");
  std::vector<std::string_view> hops;
  base::each_list_element(chain, [&](std::string_view hop) { hops.push_back(hop); });
  // The proxy forwards for a client, but X-Forwarded-For does not name the client: all clients of
  // the proxy would share the proxy's address. A proxy that sends neither field acts for itself.
  const auto speaks_of_a_client = [](const base::field& f) {
    return iequals(f.name, "x-forwarded-for") || iequals(f.name, "forwarded");
  };
  if (hops.empty() && std::any_of(fields.begin(), fields.end(), speaks_of_a_client)) {
    out.address.clear();
  }
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    unsigned char parsed[16];
    if (!parse_forwarded_address(*hop, parsed)) {
      out.address.clear();  // "unknown": the proxy's address must not stand for its clients
      break;
    }
    out.address = forwarded_address_text(parsed);
    if (!any_contains(trusted, *hop)) break;
  }
  return out;
}

bool is_forwarded_field(std::string_view name) noexcept {
  return same_name(name, "x-forwarded-for") || same_name(name, "x-forwarded-proto") ||
         same_name(name, "x-forwarded-host") || same_name(name, "forwarded");
}

forwarded_fields make_forwarded(std::string_view peer, bool from_trusted,
                                std::span<const base::field> fields, bool secure) {
  const std::string scheme = secure ? "https" : "http";
  forwarded_fields out;
  const auto* host = base::find_field(fields, "host");
  if (from_trusted) {
    out.forwarded_for = joined(fields, "x-forwarded-for");
    out.proto = joined(fields, "x-forwarded-proto");
    out.host = joined(fields, "x-forwarded-host");
    out.forwarded = joined(fields, "forwarded");
  }
  append_element(out.forwarded_for, peer);
  if (out.proto.empty()) out.proto = scheme;
  if (out.host.empty() && host != nullptr) out.host = host->value;
  std::string element = "for=";
  const bool six = peer.find(':') != std::string_view::npos;
  element += six ? "\"[" + std::string(peer) + "]\"" : std::string(peer);
  if (host != nullptr && !host->value.empty()) {
    element += ";host=\"" + std::string(host->value) + "\"";
  }
  element += ";proto=" + scheme;
  append_element(out.forwarded, element);
  return out;
}

bool may_trail(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 28> never{"accept-encoding",
                                                          "age",
                                                          "authorization",
                                                          "cache-control",
                                                          "content-encoding",
                                                          "content-range",
                                                          "content-type",
                                                          "cookie",
                                                          "date",
                                                          "expect",
                                                          "expires",
                                                          "host",
                                                          "idempotency-key",
                                                          "if-match",
                                                          "if-modified-since",
                                                          "if-none-match",
                                                          "if-range",
                                                          "location",
                                                          "max-forwards",
                                                          "pragma",
                                                          "range",
                                                          "retry-after",
                                                          "set-cookie",
                                                          "vary",
                                                          "warning",
                                                          "www-authenticate",
                                                          "x-http-method-override",
                                                          "if-unmodified-since"};
  if (is_hop_by_hop(name) || is_reserved_field(name) || is_forwarded_field(name)) return false;
  if (ends_here(name) || names_a_caller(name)) return false;
  return std::none_of(never.begin(), never.end(),
                      [&](std::string_view other) { return base::same_name(name, other); });
}

bool is_event_stream(std::span<const base::field> fields) noexcept {
  const auto* type = base::find_field(fields, "content-type");
  return type != nullptr &&
         iequals(base::trim(type->value.substr(0, type->value.find(';'))), "text/event-stream");
}

bool welcomes_trailers(std::span<const base::field> fields) noexcept {
  bool found = false;
  for (const auto& f : fields) {
    if (!iequals(f.name, "te")) continue;
    base::each_list_element(f.value, [&](std::string_view coding) {
      if (iequals(coding, "trailers")) found = true;
    });
  }
  return found;
}

}  // namespace onceguard::http

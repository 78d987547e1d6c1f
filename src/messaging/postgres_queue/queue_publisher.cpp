#include "messaging/postgres_queue/queue_publisher.hpp"

#include <set>

#include "base/hex.hpp"
#include "base/value_text.hpp"
#include "messaging/failed_call.hpp"
#include "messaging/postgres_queue/statements.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

/// The columns of a batch.
struct columns {
  array_value ids{postgres::type::text};
  array_value keys{postgres::type::text};
  array_value payloads{postgres::type::bytes};
  array_value headers{postgres::type::text};
  array_value in_front{postgres::type::boolean};
};

/// An array of bytes as text: arrays of arrays can't be taken apart.
std::string headers_text(const std::vector<attribute>& headers) {
  std::string out = "{";
  const auto add = [&](const std::string& value) {
    if (out.size() > 1) out += ',';
    out += "\"\\\\x";
    base::append_hex(out,
                     std::span(reinterpret_cast<const unsigned char*>(value.data()), value.size()));
    out += '"';
  };
  for (const auto& [name, value] : headers) {
    add(name);
    add(value);
  }
  return out + '}';
}

}  // namespace

queue_publisher::queue_publisher(const queue_url& url, const broker_params& params)
    : server_(value_of(connection::open(url, params.timeout, params.name))),
      statement_(publish_batch_statement(url)) {
  if (!value_of(server_->run(check_statement(url))).boolean(0, 0)) {
    throw failed{error(errc::conflict, url.name + ": the table is no queue of this version")};
  }
}

result<void> queue_publisher::publish(std::span<const message> batch) {
  if (batch.empty()) return {};
  columns all;
  std::set<std::string_view> seen;
  for (const auto& one : batch) {
    for (const auto& [name, value] : one.properties) {
      if (name != "message_id") {
        return error(errc::conflict, server_->name() + ": a table has no column for the property " +
                                         base::quoted(name));
      }
    }
    const auto* const id = property_of(one, "message_id");
    const bool keyed = !one.order_key.empty();
    all.ids.bytes_or_null(id == nullptr ? std::optional<std::string_view>() : *id);
    all.keys.bytes_or_null(keyed ? std::optional<std::string_view>(one.order_key) : std::nullopt);
    all.payloads.bytes(one.payload);
    all.headers.bytes_or_null(one.headers.empty() ? std::optional<std::string_view>()
                                                  : headers_text(one.headers));
    // Behind one of the same batch, and so of the same transaction, it is never the first.
    all.in_front.boolean(!keyed || seen.insert(one.order_key).second);
  }
  auto values = typed();
  values.array(postgres::type::text_array, all.ids).array(postgres::type::text_array, all.keys);
  values.array(postgres::type::bytes_array, all.payloads)
      .array(postgres::type::text_array, all.headers);
  values.array(postgres::type::boolean_array, all.in_front);
  auto sent = server_->run(statement_, values);
  if (!sent) return sent.error();
  return {};
}

}  // namespace onceguard::messaging::postgres_queue

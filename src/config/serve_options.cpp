// The options of [serve].
#include "config/all_options.hpp"
#include "config/table/option.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::string_view mode_fault = "expected an octal file mode, such as 0600";

std::string mode_complaint(std::string_view text) {
  const bool octal = (text.size() == 3 || text.size() == 4) &&
                     text.find_first_not_of("01234567") == std::string_view::npos &&
                     (text.size() == 3 || text.front() == '0');
  return octal ? std::string() : std::string(mode_fault);
}

std::string address_complaint(std::string_view text) {
  const auto read = base::parse_server_address(text);
  return read ? std::string() : read.error().detail;
}

const row<settings> serve_table[]{
    {{.name = "listen",
      .flag = "serve-listen",
      .example = "unix:/run/onceguard/serve.sock",
      .text = "Where clients reach the decision service: `unix:PATH`, or `HOST:PORT`. Empty: "
              "nowhere.",
      .may_be_empty = true,
      .complaint = address_complaint},
     [](settings& s, const option_value& v) {
       s.serve.enabled = !text(v).empty();
       if (s.serve.enabled) s.serve.listen = *base::parse_server_address(text(v));
     }},
    {{.name = "mode",
      .flag = "serve-mode",
      .fallback = "0600",
      .text = "The mode of the Unix socket: who may write there may claim and settle.",
      .complaint = mode_complaint},
     [](settings& s, const option_value& v) {
       s.serve.mode = static_cast<unsigned>(std::stoul(text(v), nullptr, 8));
     }},
    {{.name = "threads",
      .flag = "serve-threads",
      .kind = value_kind::integer,
      .fallback = "0",
      .text = "I/O threads; 0: one per core.",
      .max = 256},
     assign<&settings::serve, &serve::serve_params::threads>},
    {{.name = "max_connections",
      .flag = "serve-max-connections",
      .kind = value_kind::integer,
      .fallback = "10000",
      .text = "Connections of clients at once; more get 503 and are closed. Each operation that "
              "runs holds one.",
      .min = 1,
      .max = 1'000'000},
     assign<&settings::serve, &serve::serve_params::max_connections>},
    {{.name = "max_messages",
      .flag = "serve-max-messages",
      .kind = value_kind::size,
      .fallback = "64MiB",
      .text = "Memory for messages that are read, all together. Claims get 503 from half of this "
              "on, so that settles have room.",
      .min = 64 * kib,
      .max = 1024 * gib},
     assign<&settings::serve, &serve::serve_params::max_messages>},
    {{.name = "message_timeout",
      .flag = "serve-message-timeout",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "How long a client may take from the first to the last byte of a message.",
      .min = 10,
      .max = hour},
     assign<&settings::serve, &serve::serve_params::message_timeout>},
    {{.name = "idle_timeout",
      .flag = "serve-idle-timeout",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "How long a connection that holds no operation may be without a message.",
      .min = 10,
      .max = 24 * hour},
     assign<&settings::serve, &serve::serve_params::idle_timeout>},
    {{.name = "write_timeout",
      .flag = "serve-write-timeout",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "How long a client may take to read an answer.",
      .min = 10,
      .max = hour},
     assign<&settings::serve, &serve::serve_params::write_timeout>},
};

}  // namespace

std::span<const row<settings>> serve_rows() { return serve_table; }

}  // namespace onceguard::config

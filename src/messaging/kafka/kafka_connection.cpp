#include "messaging/kafka/kafka_connection.hpp"

#include <algorithm>
#include <limits>

#include "base/unique_handle.hpp"
#include "messaging/kafka/bearer_token.hpp"
#include "messaging/kafka/failure.hpp"

namespace onceguard::messaging::kafka {
namespace {

using namespace std::chrono_literals;

/// librdkafka's own handler would write to the standard error stream. What matters comes as an
/// error.
void keep_silent(const rd_kafka_t* /*client*/, int /*level*/, const char* /*facility*/,
                 const char* /*text*/) {}

/// One question for a topic takes no longer, so that a refused connection is noticed soon.
constexpr milliseconds longest_question{500};

std::string setting_number(milliseconds time) { return std::to_string(time.count()); }

using metadata_handle =
    base::unique_handle<const struct rd_kafka_metadata, rd_kafka_metadata_destroy>;

}  // namespace

int remaining(time_point until) noexcept {
  const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
  return static_cast<int>(
      std::clamp<std::int64_t>(left, 0, std::numeric_limits<std::int32_t>::max()));
}

setting_list common_settings(const kafka_url& url, const broker_params& params) {
  // A request that has no answer for as long ends the connection to the broker.
  const auto answer = std::clamp<milliseconds>(params.timeout, 2s, 60s);
  setting_list out{
      {"bootstrap.servers", url.servers},
      {"client.id", params.name},
      {"socket.timeout.ms", setting_number(answer)},
      {"socket.connection.setup.timeout.ms", setting_number(answer)},
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "1000"},
      // A misspelt topic must be refused, not made.
      {"allow.auto.create.topics", "false"},
      {"security.protocol",
       std::string(url.mechanism.empty() ? "" : "sasl_") + (url.tls ? "ssl" : "plaintext")},
  };
  if (!url.mechanism.empty()) out.emplace_back("sasl.mechanism", url.mechanism);
  if (url.login) {
    out.emplace_back("sasl.username", url.login->first);
    out.emplace_back("sasl.password", url.login->second);
  }
  // What the callback gets.
  if (!url.token_file.empty()) out.emplace_back("sasl.oauthbearer.config", url.token_file);
  if (!url.tls) return out;
  out.emplace_back("ssl.endpoint.identification.algorithm", "https");
  if (!url.tls->ca.empty()) out.emplace_back("ssl.ca.location", url.tls->ca);
  if (!url.tls->certificate.empty()) {
    out.emplace_back("ssl.certificate.location", url.tls->certificate);
    out.emplace_back("ssl.key.location", url.tls->key);
  }
  return out;
}

connection::connection(rd_kafka_type_t type, const kafka_url& url, const broker_params& params,
                       const setting_list& settings, const conf_setter& set)
    : name_(url.name()), timeout_(params.timeout) {
  // librdkafka's words about files name none of them.
  if (auto fault = url.files_fault(); !fault.empty()) {
    throw failed{refusal(errc::invalid_argument, fault)};
  }
  conf_handle conf(rd_kafka_conf_new());
  char why[512]{};
  for (const auto& [setting, value] : settings) {
    if (rd_kafka_conf_set(conf.get(), setting.c_str(), value.c_str(), why, sizeof why) !=
        RD_KAFKA_CONF_OK) {
      // librdkafka's words may repeat the value, which may be a password.
      throw failed{refusal(errc::invalid_argument, "librdkafka refuses a value of " + setting)};
    }
  }
  rd_kafka_conf_set_log_cb(conf.get(), keep_silent);
  if (!url.token_file.empty()) {
    rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf.get(), renew_token);
    rd_kafka_conf_enable_sasl_queue(conf.get(), 1);
  }
  if (set) set(conf.get());
  raw_ = rd_kafka_new(type, conf.get(), why, sizeof why);
  if (raw_ == nullptr) {
    throw failed{refusal(errc::invalid_argument, "can't begin a client: " + std::string(why))};
  }
  static_cast<void>(conf.release());  // the client's
  // By a thread of librdkafka's: tokens are renewed however long nobody calls.
  if (!url.token_file.empty()) {
    rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(raw_));
  }
}

connection::~connection() {
  // To close the consumer here would wait for the group without a bound: leave() has done it.
  if (!abandoned_) rd_kafka_destroy_flags(raw_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

std::optional<rd_kafka_resp_err_t> connection::ask_for_topic(rd_kafka_topic_t* topic,
                                                             time_point until) {
  const struct rd_kafka_metadata* found = nullptr;
  const auto code = rd_kafka_metadata(raw_, 0, topic, &found, remaining(until));
  const metadata_handle metadata(found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR || metadata->topic_cnt < 1) return std::nullopt;
  return metadata->topics[0].err;
}

void connection::require_topic(const std::string& topic) {
  const topic_handle wanted(rd_kafka_topic_new(raw_, topic.c_str(), nullptr));
  if (!wanted) throw failed{failure("name the topic " + topic, rd_kafka_last_error())};
  const auto until = deadline();
  while (true) {
    const bool refused_before = all_down_;
    const auto code = ask_for_topic(
        wanted.get(), std::min<time_point>(until, base::boot_now() + longest_question));
    rd_kafka_poll(raw_, 0);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    if (code && !is_passing(*code)) throw failed{failure("use the topic " + topic, *code)};
    if (refused_before || base::boot_now() >= until) {
      throw failed{failure("connect", code.value_or(RD_KAFKA_RESP_ERR__TRANSPORT))};
    }
  }
  doubtful_ = all_down_ = false;
}

void connection::check() {
  if (broken_) throw failed{*broken_};
  if (!doubtful_) return;
  doubtful_ = all_down_ = false;
  // One broken connection of several is no loss, nor is an idle one.
  const auto until = deadline();
  const struct rd_kafka_metadata* found = nullptr;
  const auto code = rd_kafka_metadata(raw_, 0, nullptr, &found, remaining(until));
  const metadata_handle metadata(found);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  give_up(failure("reach a broker", code));
  throw failed{*broken_};
}

void connection::give_up(error why) {
  if (!broken_) broken_ = std::move(why);
}

void connection::note_error(rd_kafka_resp_err_t code, const char* words) {
  // Any error puts the connection in doubt. librdkafka 2.0.2 alone does not say reliably that all
  // brokers are down: never where the group's coordinator loses its address before the last broker
  // goes.
  doubtful_ = true;
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    all_down_ = true;  // why was reported before
    return;
  }
  if (words != nullptr && *words != '\0') last_words_ = words;
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    char why[512]{};
    const auto fatal = rd_kafka_fatal_error(raw_, why, sizeof why);
    give_up({errc::broker_unreachable, name_ + ": " + rd_kafka_err2str(fatal) + ": " + why,
             effect::unknown});
  }
}

error connection::failure(std::string_view action, rd_kafka_resp_err_t code) const {
  auto out = failure_of(name_, action, code);
  // What it said last was about the connections.
  if (out.code == errc::broker_unreachable && !last_words_.empty()) {
    out.detail += ": " + last_words_;
  }
  return out;
}

error connection::refusal(errc code, std::string_view text) const {
  return {code, name_ + ": " + std::string(text)};
}

}  // namespace onceguard::messaging::kafka

#include "messaging/kafka/kafka_publisher.hpp"

#include <algorithm>
#include <array>

#include "messaging/kafka/wire_message.hpp"

namespace onceguard::messaging::kafka {
namespace {

using namespace std::chrono_literals;

/// For the reports of what is dropped.
constexpr milliseconds last_reports{1'000};

setting_list publisher_settings(const kafka_url& url, const broker_params& params) {
  auto out = common_settings(url, params);
  const auto timeout = std::clamp<milliseconds>(params.timeout, 100ms, 15min);
  out.insert(out.end(), {
                            // librdkafka repeats requests by itself: so the broker stores each
                            // message once, and in order.
                            {"enable.idempotence", "true"},
                            {"acks", "all"},
                            {"message.timeout.ms", std::to_string(timeout.count())},
                            // A topic's own limit is the broker's to know.
                            {"message.max.bytes", "100000000"},
                            // The partitions that Java's clients choose for the same keys.
                            {"partitioner", "murmur2_random"},
                            {"linger.ms", "2"},
                        });
  return out;
}

}  // namespace

kafka_publisher::kafka_publisher(const kafka_url& url, const broker_params& params)
    : server_(RD_KAFKA_PRODUCER, url, params, publisher_settings(url, params),
              [this](rd_kafka_conf_t* conf) { configure(conf); }),
      topic_(rd_kafka_topic_new(server_.raw(), url.topic.c_str(), nullptr)) {
  if (!topic_) throw failed{server_.failure("name the topic", rd_kafka_last_error())};
  server_.require_topic(url.topic);
}

void kafka_publisher::configure(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_error_cb(conf,
                             [](rd_kafka_t* /*client*/, int code, const char* words, void* opaque) {
                               static_cast<kafka_publisher*>(opaque)->server_.note_error(
                                   static_cast<rd_kafka_resp_err_t>(code), words);
                             });
  rd_kafka_conf_set_dr_msg_cb(
      conf, [](rd_kafka_t* /*client*/, const rd_kafka_message_t* report, void* opaque) {
        static_cast<kafka_publisher*>(opaque)->note_report(*report);
      });
}

result<void> kafka_publisher::publish(std::span<const message> batch) {
  return caught([&] {
    rd_kafka_poll(server_.raw(), 0);
    server_.check();
    check(batch);
    const auto until = server_.deadline();
    first_ = next_;
    unreported_ = 0;
    refused_.reset();
    try {
      for (const auto& next : batch) send(next, until);
    } catch (...) {
      wait_for_reports(until);  // of those before it
      throw;
    }
    wait_for_reports(until);
    if (!refused_) return;
    auto why = server_.failure("publish", *refused_);
    if (batch.size() > 1 || why.code == errc::broker_unreachable) why.effect = effect::unknown;
    if (why.code == errc::broker_unreachable) server_.give_up(why);
    throw failed{std::move(why)};
  });
}

void kafka_publisher::check(std::span<const message> batch) const {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto fault = fault_of(batch[i]);
    if (fault.empty()) continue;
    throw failed{
        server_.refusal(errc::invalid_argument, "message " + std::to_string(i) + ": " + fault)};
  }
}

void kafka_publisher::send(const message& next, time_point until) {
  auto headers = headers_of(next);
  if (!headers) throw failed{server_.refusal(errc::invalid_argument, "a header is too large")};
  std::array<rd_kafka_vu_t, 6> all{};
  std::size_t count = 0;
  const auto add = [&](rd_kafka_vtype_t type) -> auto& {
    all[count].vtype = type;
    return all[count++].u;
  };
  add(RD_KAFKA_VTYPE_RKT).rkt = topic_.get();
  // A publish that ran out of time leaves messages to librdkafka, whose caller may be gone.
  add(RD_KAFKA_VTYPE_MSGFLAGS).i = RD_KAFKA_MSG_F_COPY;
  // librdkafka only reads them.
  add(RD_KAFKA_VTYPE_VALUE).mem = {const_cast<char*>(next.payload.data()), next.payload.size()};
  if (!next.order_key.empty()) {
    add(RD_KAFKA_VTYPE_KEY).mem = {const_cast<char*>(next.order_key.data()), next.order_key.size()};
  }
  add(RD_KAFKA_VTYPE_HEADERS).headers = headers.get();
  add(RD_KAFKA_VTYPE_OPAQUE).ptr = reinterpret_cast<void*>(next_);
  while (true) {
    const error_handle refused(rd_kafka_produceva(server_.raw(), all.data(), count));
    if (!refused) break;
    const auto code = rd_kafka_error_code(refused.get());
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || base::boot_now() >= until) {
      throw failed{server_.failure("publish", code)};
    }
    rd_kafka_poll(server_.raw(), 10);
  }
  static_cast<void>(headers.release());  // the message's
  ++next_;
  ++unreported_;
}

void kafka_publisher::wait_for_reports(time_point until) {
  rd_kafka_flush(server_.raw(), remaining(until));
  if (unreported_ == 0) return;
  // What is still under way must not be stored after the caller has published it anew.
  rd_kafka_purge(server_.raw(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_flush(server_.raw(), last_reports.count());
  auto why = server_.failure("publish in time", RD_KAFKA_RESP_ERR__TIMED_OUT);
  why.effect = effect::unknown;
  server_.give_up(why);
  throw failed{std::move(why)};
}

void kafka_publisher::note_report(const rd_kafka_message_t& report) {
  const auto number = reinterpret_cast<std::uintptr_t>(report._private);
  if (number < first_ || number >= next_) return;  // of an earlier call
  --unreported_;
  if (report.err != RD_KAFKA_RESP_ERR_NO_ERROR && !refused_) refused_ = report.err;
}

}  // namespace onceguard::messaging::kafka

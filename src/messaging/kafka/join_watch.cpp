#include "messaging/kafka/join_watch.hpp"

#include "base/clock.hpp"

namespace onceguard::messaging::kafka {
namespace {

/// Numbers of Kafka's protocol.
constexpr std::int16_t join_group = 11;
constexpr std::int16_t sync_group = 14;
constexpr const char* interceptor = "onceguard";

std::int64_t now_in_milliseconds() noexcept {
  return std::chrono::floor<milliseconds>(base::boot_now().time_since_epoch()).count();
}

rd_kafka_resp_err_t on_request(rd_kafka_t* /*client*/, int /*socket*/, const char* /*broker*/,
                               std::int32_t /*id*/, std::int16_t request, std::int16_t /*version*/,
                               std::int32_t /*number*/, std::size_t /*size*/, void* watch) {
  static_cast<join_watch*>(watch)->note_request(request);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t on_response(rd_kafka_t* /*client*/, int /*socket*/, const char* /*broker*/,
                                std::int32_t /*id*/, std::int16_t request, std::int16_t /*version*/,
                                std::int32_t /*number*/, std::size_t /*size*/, std::int64_t /*rtt*/,
                                rd_kafka_resp_err_t code, void* watch) {
  static_cast<join_watch*>(watch)->note_response(request, code);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t on_new(rd_kafka_t* client, const rd_kafka_conf_t* /*conf*/, void* watch,
                           char* /*why*/, std::size_t /*size*/) {
  const auto code =
      rd_kafka_interceptor_add_on_request_sent(client, interceptor, on_request, watch);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return code;
  return rd_kafka_interceptor_add_on_response_received(client, interceptor, on_response, watch);
}

}  // namespace

void join_watch::install(rd_kafka_conf_t* conf) {
  // It fails only where the same one is there already.
  static_cast<void>(rd_kafka_conf_interceptor_add_on_new(conf, interceptor, on_new, this));
}

bool join_watch::joins() const noexcept { return now_in_milliseconds() < until_.load(); }

void join_watch::wait_for(milliseconds time) noexcept {
  until_.store(now_in_milliseconds() + time.count());
}

void join_watch::note_rebalance() noexcept {
  if (!joins()) wait_for(hold_ / 5);  // two heartbeats
}

void join_watch::note_request(std::int16_t request) noexcept {
  if (request == join_group) wait_for(2 * hold_);
}

void join_watch::note_response(std::int16_t request, rd_kafka_resp_err_t code) noexcept {
  const bool failed_to_join = request == join_group && code != RD_KAFKA_RESP_ERR_NO_ERROR;
  if (failed_to_join || request == sync_group) joined();
}

}  // namespace onceguard::messaging::kafka

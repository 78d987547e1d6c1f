// What the errors of librdkafka and of Kafka's brokers mean.
#pragma once
#include <librdkafka/rdkafka.h>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "messaging/failed_call.hpp"

namespace onceguard::messaging::kafka {

/// `name` is the URL's; `action`: "commit" …
[[nodiscard]] error failure_of(const std::string& name, std::string_view action,
                               rd_kafka_resp_err_t code);

/// May the same be well a moment later, without anything of ours?
[[nodiscard]] bool is_passing(rd_kafka_resp_err_t code) noexcept;

}  // namespace onceguard::messaging::kafka

// Owners of librdkafka's objects.
#pragma once
#include <librdkafka/rdkafka.h>

#include "base/unique_handle.hpp"

namespace onceguard::messaging::kafka {

using conf_handle = base::unique_handle<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using topic_handle = base::unique_handle<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using queue_handle = base::unique_handle<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using event_handle = base::unique_handle<rd_kafka_event_t, rd_kafka_event_destroy>;
using error_handle = base::unique_handle<rd_kafka_error_t, rd_kafka_error_destroy>;
using message_handle = base::unique_handle<rd_kafka_message_t, rd_kafka_message_destroy>;
using headers_handle = base::unique_handle<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using partition_list =
    base::unique_handle<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;

}  // namespace onceguard::messaging::kafka

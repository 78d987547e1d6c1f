// Owners of librdkafka's objects.
#pragma once
#include <librdkafka/rdkafka.h>
#include <memory>

namespace onceguard::messaging::kafka {

template <auto Destroy>
struct destroyer {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};

using conf_handle = std::unique_ptr<rd_kafka_conf_t, destroyer<rd_kafka_conf_destroy>>;
using topic_handle = std::unique_ptr<rd_kafka_topic_t, destroyer<rd_kafka_topic_destroy>>;
using queue_handle = std::unique_ptr<rd_kafka_queue_t, destroyer<rd_kafka_queue_destroy>>;
using event_handle = std::unique_ptr<rd_kafka_event_t, destroyer<rd_kafka_event_destroy>>;
using error_handle = std::unique_ptr<rd_kafka_error_t, destroyer<rd_kafka_error_destroy>>;
using message_handle = std::unique_ptr<rd_kafka_message_t, destroyer<rd_kafka_message_destroy>>;
using headers_handle = std::unique_ptr<rd_kafka_headers_t, destroyer<rd_kafka_headers_destroy>>;
using partition_list = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                       destroyer<rd_kafka_topic_partition_list_destroy>>;

}  // namespace onceguard::messaging::kafka

// Owners of libnats' objects.
#pragma once
#include <memory>
#include <nats/nats.h>

namespace onceguard::messaging::nats {

template <auto Destroy>
struct destroyer {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};

using options_handle = std::unique_ptr<natsOptions, destroyer<natsOptions_Destroy>>;
using connection_handle = std::unique_ptr<natsConnection, destroyer<natsConnection_Destroy>>;
using context_handle = std::unique_ptr<jsCtx, destroyer<jsCtx_Destroy>>;
using subscription_handle = std::unique_ptr<natsSubscription, destroyer<natsSubscription_Destroy>>;
using inbox_handle = std::unique_ptr<natsInbox, destroyer<natsInbox_Destroy>>;
using message_handle = std::unique_ptr<natsMsg, destroyer<natsMsg_Destroy>>;
using stream_handle = std::unique_ptr<jsStreamInfo, destroyer<jsStreamInfo_Destroy>>;
using consumer_handle = std::unique_ptr<jsConsumerInfo, destroyer<jsConsumerInfo_Destroy>>;
using metadata_handle = std::unique_ptr<jsMsgMetaData, destroyer<jsMsgMetaData_Destroy>>;

}  // namespace onceguard::messaging::nats

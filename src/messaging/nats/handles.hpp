// Owners of libnats' objects.
#pragma once
#include <nats/nats.h>

#include "base/unique_handle.hpp"

namespace onceguard::messaging::nats {

using options_handle = base::unique_handle<natsOptions, natsOptions_Destroy>;
using connection_handle = base::unique_handle<natsConnection, natsConnection_Destroy>;
using context_handle = base::unique_handle<jsCtx, jsCtx_Destroy>;
using subscription_handle = base::unique_handle<natsSubscription, natsSubscription_Destroy>;
using inbox_handle = base::unique_handle<natsInbox, natsInbox_Destroy>;
using message_handle = base::unique_handle<natsMsg, natsMsg_Destroy>;
using stream_handle = base::unique_handle<jsStreamInfo, jsStreamInfo_Destroy>;
using consumer_handle = base::unique_handle<jsConsumerInfo, jsConsumerInfo_Destroy>;
using metadata_handle = base::unique_handle<jsMsgMetaData, jsMsgMetaData_Destroy>;

}  // namespace onceguard::messaging::nats

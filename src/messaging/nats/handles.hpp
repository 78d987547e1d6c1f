// Owners of libnats' objects.
#pragma once
#include <nats/nats.h>

#include "base/owned.hpp"

namespace onceguard::messaging::nats {

using options_handle = base::owned<natsOptions, natsOptions_Destroy>;
using connection_handle = base::owned<natsConnection, natsConnection_Destroy>;
using context_handle = base::owned<jsCtx, jsCtx_Destroy>;
using subscription_handle = base::owned<natsSubscription, natsSubscription_Destroy>;
using inbox_handle = base::owned<natsInbox, natsInbox_Destroy>;
using message_handle = base::owned<natsMsg, natsMsg_Destroy>;
using stream_handle = base::owned<jsStreamInfo, jsStreamInfo_Destroy>;
using consumer_handle = base::owned<jsConsumerInfo, jsConsumerInfo_Destroy>;
using metadata_handle = base::owned<jsMsgMetaData, jsMsgMetaData_Destroy>;

}  // namespace onceguard::messaging::nats

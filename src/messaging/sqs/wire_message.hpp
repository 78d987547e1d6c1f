// Messages as Amazon SQS carries them: a text, and at most ten attributes.
//
// Headers are the message attributes: of the type String; Binary where the value is no plain text;
// and `String.empty` where it is empty, for Amazon takes no empty value. The attribute `message_id`
// is the property of that name. A payload that is no plain text goes as base64, and an empty one as
// a word, with the attribute `onceguard_encoding`.
//
// In a FIFO queue the group is the order_key, and the deduplication id is the message id; what
// Amazon does not take as one of these goes as its SHA-256. A message without order_key is a group
// of its own, and one without an id gets a random deduplication id, which is not shown to
// consumers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

namespace onceguard::messaging::sqs {

struct received_message {
  std::string receipt;  ///< names the delivery in requests
  std::uint32_t count = 1;
  message content;
};

/// Of the answer to ReceiveMessage. Properties: `message_id` where there is one, or the
/// deduplication id that another sender gave; `sqs_message_id`; `sent_at`, in milliseconds since
/// 1970. Throws `failed`. `name` is the queue's, for people.
[[nodiscard]] std::vector<received_message> messages_of(const std::string& name,
                                                        const std::string& answer, bool fifo);

struct outgoing_message {
  std::string id;        ///< within its batch
  std::string entry;     ///< of SendMessageBatch, a JSON object
  std::size_t size = 0;  ///< as Amazon counts it
};

/// Throws `failed` with errc::conflict where Amazon would not take it. `id` names the message
/// within its batch.
[[nodiscard]] outgoing_message outgoing_of(const std::string& name, const message& sent,
                                           std::size_t id, bool fifo);

}  // namespace onceguard::messaging::sqs

#include "audit/audited_resolve.hpp"

#include <utility>

#include "base/hex.hpp"
#include "base/log.hpp"

namespace onceguard {
namespace {

audited_change change_of(std::string_view action, const resolution& request,
                         const std::optional<record_view>& before) {
  audited_change out;
  out.action = action;
  out.record = request.id;
  const auto& about = before ? before->stored.about : request.about;
  if (about) out.key = about->key;
  out.former = before ? name_of(before->state) : "unreadable";
  out.wanted = name_of(request.completed ? observed_state::completed : observed_state::released);
  if (request.force) out.about = "by force";
  return out;
}

void log_unwritten(const error& why, const resolution& request) {
  base::log(base::event::audit_not_written,
            {{"why", why.detail}, {"record", base::digest_text(request.id)}});
}

}  // namespace

boost::asio::awaitable<audited_end> resolve_audited(record_access& records,
                                                    std::optional<record_view> before,
                                                    resolution change, audit_context context,
                                                    resolve_times times,
                                                    std::function<void()> report_wait) {
  const auto audited = change_of(context.action, change, before);
  audited_end out;
  if (const auto line = context.log.intend(context.author, audited); !line) {
    log_unwritten(line.error(), change);
    out.resolved = line.error();
    co_return out;
  }
  out.resolved =
      co_await resolve_surely(records, std::move(before), change, times, std::move(report_wait));
  const auto line =
      context.log.conclude(context.author, audited, std::string(outcome_text(out.resolved)));
  if (!line) {
    log_unwritten(line.error(), change);
    out.unwritten = line.error();
  }
  co_return out;
}

}  // namespace onceguard

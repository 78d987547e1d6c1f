// Notes of what needs a person: who writes them, and who drops them. What is listed is in the
// contract.
#include <poll.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "store/redis/fixture.hpp"

namespace onceguard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class redis_notes_test : public redis_fixture {
 protected:
  std::vector<std::string> notes() {
    return server_.session().list({"HKEYS", "onceguard:attention"});
  }
  static std::string note_of(const claim& request) {
    return std::string(base::as_chars(request.id));
  }
  void abandon(const claim& request) {
    const auto end = settle_of(request, caller_.leased(request), settle_kind::abandon);
    ASSERT_EQ(caller_.settle(end).outcome, settle_outcome::done);
  }
  list_page needs_person() {
    list_filter filter;
    filter.needs_person = true;
    return caller_.list(filter);
  }

  const store_ptr store_ = open();
  blocking_store caller_{*store_};
};

TEST_F(redis_notes_test, claims_completes_releases_and_their_repeats_write_none) {
  caller_.completed(claim_of("done"));
  EXPECT_EQ(caller_.claim(claim_of("done")).kind, verdict_kind::replay);
  for (const auto kind : {settle_kind::fail, settle_kind::release}) {
    const auto request = claim_of(kind == settle_kind::fail ? "failed" : "released");
    caller_.settle(settle_of(request, caller_.leased(request), kind));
  }
  caller_.leased(claim_of("running"));
  EXPECT_EQ(caller_.claim(claim_of("running")).kind, verdict_kind::busy);
  caller_.sweep_whole();
  EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(redis_notes_test, a_sweep_drops_a_note_that_no_record_bears_out_and_keeps_the_others) {
  abandon(claim_of("ended"));
  abandon(claim_of("open"));
  EXPECT_EQ(notes().size(), 2u);
  resolution change;
  change.id = claim_of("ended").id;
  change.completed = true;
  EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  EXPECT_EQ(needs_person().records.size(), 1u);
  caller_.sweep_whole();
  EXPECT_THAT(notes(), ElementsAre(note_of(claim_of("open"))));
}

TEST_F(redis_notes_test, a_sweep_notes_a_record_whose_holder_is_gone_once_its_lease_is_over) {
  redis_server still({}, true);
  constexpr std::int64_t now = 1'700'000'000'000;
  still.set_clock(now);
  const auto tested = open(still);
  blocking_store caller(*tested);
  const auto noted = [&] { return still.session().list({"HKEYS", "onceguard:attention"}); };
  const auto request = claim_of("gone");
  caller.leased(request);
  caller.sweep_whole();
  EXPECT_THAT(noted(), IsEmpty());
  still.set_clock(now + lease_length.count());
  EXPECT_EQ(caller.seen(request.id).state, observed_state::unknown);
  EXPECT_THAT(noted(), IsEmpty());
  caller.sweep_whole();
  EXPECT_THAT(noted(), ElementsAre(note_of(request)));
  list_filter filter;
  filter.needs_person = true;
  EXPECT_EQ(caller.list(filter).records.size(), 1u);
}

TEST_F(redis_notes_test, a_sweep_notes_a_value_that_is_no_record) {
  auto admin = server_.session();
  admin.run({"LPUSH", name_of(claim_of("list")), "item"});
  admin.run({"SET", name_of(claim_of("text")), "another text"});
  caller_.completed(claim_of("good"));
  caller_.sweep_whole();
  EXPECT_EQ(needs_person().unreadable.size(), 2u);
}

TEST_F(redis_notes_test, a_server_that_is_slower_than_a_sweep_goes_on_is_swept_by_steps) {
  abandon(claim_of("unknown"));
  server_.session().run({"DEL", "onceguard:attention"});
  server_.pause();
  const std::jthread later([this] {
    ::poll(nullptr, 0, 1'200);
    server_.go_on();
  });
  EXPECT_TRUE(caller_.try_sweep(1'000));
  EXPECT_THAT(notes(), ElementsAre(note_of(claim_of("unknown"))));
}

TEST_F(redis_notes_test, a_sweep_passes_all_records_of_a_store_that_needs_many_steps) {
  for (int i = 0; i < 1'500; ++i) caller_.completed(claim_of("done" + std::to_string(i)));
  abandon(claim_of("unknown"));
  server_.session().run({"DEL", "onceguard:attention"});
  EXPECT_TRUE(needs_person().records.empty());
  caller_.sweep_whole();
  EXPECT_EQ(needs_person().records.size(), 1u);
}

}  // namespace
}  // namespace onceguard::testing

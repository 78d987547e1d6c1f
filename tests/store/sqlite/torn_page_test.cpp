// A page of the file whose first half alone a checkpoint has written: its head points to where no
// row begins. The write-ahead log has the whole page.
#include <array>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

namespace fs = std::filesystem;
using sqlite::sqlite_store;

/// Points the only cell of a leaf page `bytes` before the place where it is.
void move_cell(const std::string& path, std::int64_t page, unsigned bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::array<char, 10> head{};
  file.seekg((page - 1) * 4'096);
  file.read(head.data(), head.size());
  const auto former =
      static_cast<unsigned char>(head[8]) << 8 | static_cast<unsigned char>(head[9]);
  const auto next = static_cast<unsigned>(former) - bytes;
  head[5] = head[8] = static_cast<char>(next >> 8);
  head[6] = head[9] = static_cast<char>(next & 0xff);
  file.seekp((page - 1) * 4'096);
  file.write(head.data(), head.size());
}

TEST(sqlite_torn_page, a_row_that_begins_elsewhere_is_repaired_by_the_wal) {
  const temporary_folder folder;
  base::manual_clock clock;
  sqlite::sqlite_params params;
  params.path = folder.file("store.db");
  params.clock = &clock;
  for (const std::string part : {"first", "second"}) {
    const auto store = sqlite_store::open(params).value();
    blocking_store caller(*store);
    for (int i = 0; i < 20; ++i) caller.completed(claim_of(part + std::to_string(i)));
    if (part == "second") {
      for (const char* suffix : {"", "-wal"}) {
        fs::copy_file(params.path + suffix, folder.file("killed.db") + suffix);
      }
    }
    store->stop();
  }
  params.path = folder.file("killed.db");
  const auto page = sqlite::connection(folder.file("store.db"), nullptr)
                        .integer("SELECT rootpage FROM sqlite_schema WHERE name = 'meta'");
  move_cell(params.path, page, 64);
  auto opened = sqlite_store::open(params);
  ASSERT_TRUE(opened) << opened.error().detail;
  blocking_store caller(**opened);
  EXPECT_EQ(caller.claim(claim_of("first0")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.claim(claim_of("second19")).kind, verdict_kind::replay);
}

}  // namespace
}  // namespace onceguard::testing

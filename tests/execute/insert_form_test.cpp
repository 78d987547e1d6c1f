// Which INSERT statements leave the row that is there as it is.
#include "execute/insert_form.hpp"

#include <gtest/gtest.h>

namespace onceguard {
namespace {

TEST(insert_form, leaves_conflicts_alone_where_each_says_do_nothing) {
  for (const char* insert : {
           "INSERT INTO a (b) VALUES ($1) ON CONFLICT (b) DO NOTHING RETURNING b",
           "insert into a values (1) on\n conflict on constraint a_b do\tnothing returning b",
           "INSERT INTO a VALUES ('DO UPDATE', \"do update\") ON CONFLICT DO NOTHING",
           "INSERT INTO a VALUES ('it''s ON CONFLICT') ON CONFLICT (b) DO NOTHING",
           "INSERT INTO a VALUES (E'\\' DO UPDATE') ON CONFLICT (b) DO NOTHING",
           "INSERT INTO a VALUES ($x$ DO UPDATE $x$, $$'$$) ON CONFLICT (b) DO NOTHING",
           "INSERT INTO a VALUES ($1) -- DO UPDATE\n ON CONFLICT (b) DO NOTHING",
           "INSERT INTO a VALUES ($1) /* DO /* UPDATE */ '*/ ON CONFLICT (b) DO NOTHING",
           "INSERT INTO a VALUES (1) ON CONFLICT (b) DO NOTHING ON CONFLICT (c) DO NOTHING",
           "WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x ON CONFLICT (b) DO NOTHING",
       }) {
    EXPECT_TRUE(leaves_conflicts_alone(insert)) << insert;
  }
}

TEST(insert_form, is_refused_where_a_repeat_would_get_a_row_as_if_it_were_new) {
  for (const char* insert : {
           "",
           "INSERT INTO a VALUES (1)",
           "INSERT INTO a VALUES (1) ON CONFLICT",
           "INSERT INTO a VALUES (1) ON CONFLICT (b) DO UPDATE SET b = excluded.b RETURNING b",
           "insert into a values (1) on conflict (b) do\nupdate set b = 1 returning b",
           "INSERT INTO a VALUES (1) ON CONFLICT (b) DO/**/UPDATE SET b = 1 RETURNING b",
           "INSERT INTO a VALUES (1) ON CONFLICT (b) DO NOTHING ON CONFLICT (c) DO UPDATE SET c = "
           "1",
           "INSERT INTO a VALUES (1) ON CONFLICT (b) DO UPDATE SET b = 'ON CONFLICT DO NOTHING'",
           "INSERT INTO a VALUES (1) ON CONFLICT (b) DO UPDATE SET b = 1 -- DO NOTHING",
           "INSERT INTO a VALUES ('ON CONFLICT (b) DO NOTHING') RETURNING b",
           "INSERT INTO a VALUES (1) /* ON CONFLICT (b) DO NOTHING */ RETURNING b",
           "INSERT OR REPLACE INTO a VALUES (1) ON CONFLICT (b) DO NOTHING RETURNING b",
           "REPLACE INTO a VALUES (1) ON CONFLICT (b) DO NOTHING RETURNING b",
       }) {
    EXPECT_FALSE(leaves_conflicts_alone(insert)) << insert;
  }
}

}  // namespace
}  // namespace onceguard

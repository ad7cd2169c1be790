// What must be the same in all ranks, and errors that one of them has.

#include "ranks/agree.h"

#include <gtest/gtest.h>

#include "bdc/base/error.h"
#include "bdc/base/user_error.h"
#include "host/engine/thread_ranks.h"
#include "launch/launch.h"

namespace bdc::host {
namespace {

struct Thrown {
  int code = 0;
  std::string text;
};

/// What `work` throws in each of `size` ranks.
std::vector<Thrown> thrown(int size, const std::function<void(Communicator&)>& work) {
  std::vector<Thrown> out(static_cast<std::size_t>(size));
  ThreadRanks(size).run([&](Communicator& ranks) {
    try {
      work(ranks);
    } catch (const UserError& e) {
      out[static_cast<std::size_t>(ranks.rank())] = {static_cast<int>(e.code()), e.what()};
    }
  });
  return out;
}

TEST(RequireAgreement, RanksWithTheSameFactsGoOn) {
  for (const Thrown& one : thrown(3, [](Communicator& ranks) {
         require_agreement(ranks, {{"config", "a\nb"}, {"x", ""}});
       })) {
    EXPECT_EQ(one.code, 0) << one.text;
  }
  require_agreement(Communicator::alone(), {{"config", "a"}});
}

TEST(RequireAgreement, EveryRankIsToldWhoDiffersInWhatAndWhere) {
  for (const char* what : {"config", "set of labels", "version of bdc-host", "plugin"}) {
    const auto all = thrown(4, [&](Communicator& ranks) {
      const bool is_odd = ranks.rank() == 1 || ranks.rank() == 3;
      require_agreement(ranks,
                        {{"run to resume", "none"}, {what, std::string("same\n  ") + (is_odd ? "seed 4" : "seed 0")}});
    });
    for (const Thrown& one : all) {
      EXPECT_EQ(one.code, static_cast<int>(ExitCode::ranks_apart));
      EXPECT_EQ(one.text,
                std::string("ranks 1, 3 have another ") + what + " than rank 0\n  rank 0: seed 0\n  rank 1: seed 4");
    }
  }
}

TEST(DoTogether, AnErrorOfOneRankReachesAllWithItsCode) {
  const auto all = thrown(3, [](Communicator& ranks) {
    do_together(ranks, [&] {
      if (ranks.rank() == 1) throw DataError("labels.json: is damaged");
    });
  });
  for (const Thrown& one : all) EXPECT_EQ(one.code, static_cast<int>(ExitCode::data));
  EXPECT_EQ(all[0].text, "rank 1 failed: labels.json: is damaged");
  EXPECT_EQ(all[1].text, "rank 1: labels.json: is damaged");
  EXPECT_EQ(all[2].text, "rank 1 failed: labels.json: is damaged");
}

TEST(DoTogether, WhatAllSayIsSaidOnce) {
  const auto all = thrown(
      3, [](Communicator& ranks) { do_together(ranks, [] { throw UserError(ExitCode::config, "no such key"); }); });
  for (const Thrown& one : all) EXPECT_EQ(one.code, static_cast<int>(ExitCode::config));
  EXPECT_EQ(all[0].text, "no such key");
  EXPECT_EQ(all[1].text, "");
  EXPECT_EQ(all[2].text, "");
}

TEST(DoTogether, WorkThatSucceedsEverywhereReturns) {
  for (const Thrown& one : thrown(2, [](Communicator& ranks) { do_together(ranks, [] {}); })) EXPECT_EQ(one.code, 0);
}

}  // namespace
}  // namespace bdc::host

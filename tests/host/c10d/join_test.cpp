// Ranks as threads of one process: what they get from one another, and what they say when somebody is missing.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "c10d/join.h"
#include "launch/local_ranks.h"

namespace bdc::host {
namespace {

Launch launch_of(int rank, int size, int port) {
  Launch out;
  out.launcher = "test";
  out.rank = out.local_rank = rank;
  out.size = out.local_size = size;
  out.host = "127.0.0.1";
  out.port = port;
  return out;
}

/// Runs `work` in each launch's thread; what was thrown, by thread, "" for nothing.
std::vector<std::string> in_threads(const std::vector<Launch>& launches, double timeout,
                                    const std::function<void(Communicator&)>& work) {
  std::vector<std::string> out(launches.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto ranks = join_ranks(launches[i], timeout, {});
        work(*ranks);
      } catch (const UserError& e) {
        EXPECT_EQ(e.code(), ExitCode::ranks_apart);
        out[i] = e.what();
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return out;
}

std::vector<Launch> all_of(int size) {
  const int port = free_port();
  std::vector<Launch> out;
  for (int r = 0; r < size; ++r) out.push_back(launch_of(r, size, port));
  return out;
}

class RanksOf : public testing::TestWithParam<int> {};

TEST_P(RanksOf, GetTheSameSumsBytesAndBroadcasts) {
  const int size = GetParam();
  const auto errors = in_threads(all_of(size), 20, [&](Communicator& ranks) {
    std::vector<float> floats(1000, static_cast<float>(ranks.rank() + 1));
    ranks.all_reduce(floats);
    EXPECT_EQ(floats[999], static_cast<float>(size * (size + 1) / 2));
    std::vector<double> doubles{0.5, static_cast<double>(ranks.rank())};
    ranks.all_reduce_doubles(doubles);
    EXPECT_EQ(doubles[0], 0.5 * size);
    EXPECT_EQ(doubles[1], size * (size - 1) / 2);

    const auto bytes = ranks.gather(std::string(static_cast<std::size_t>(ranks.rank()), 'x'));  // rank 0 has none
    ASSERT_EQ(bytes.size(), static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r) EXPECT_EQ(bytes[static_cast<std::size_t>(r)].size(), static_cast<std::size_t>(r));
    EXPECT_EQ(ranks.gather("").size(), static_cast<std::size_t>(size));

    std::vector<std::string> taken;
    ranks.send_to_first(
        std::string(static_cast<std::size_t>(ranks.rank() % 3) * 100, static_cast<char>('0' + ranks.rank())),
        [&](std::string theirs) { taken.push_back(std::move(theirs)); });
    ASSERT_EQ(taken.size(), static_cast<std::size_t>(ranks.is_first() ? size - 1 : 0));
    for (int r = 1; ranks.is_first() && r < size; ++r) {
      EXPECT_EQ(taken[static_cast<std::size_t>(r) - 1],
                std::string(static_cast<std::size_t>(r % 3) * 100, static_cast<char>('0' + r)));
    }

    int number = ranks.rank() == size - 1 ? 77 : 0;
    ranks.broadcast(&number, sizeof(number), size - 1);
    EXPECT_EQ(number, 77);
    ranks.barrier();
  });
  for (const auto& error : errors) EXPECT_EQ(error, "");
}
INSTANTIATE_TEST_SUITE_P(Sizes, RanksOf, testing::Values(2, 3, 4));

TEST(Ranks, SumsHaveTheSameBitsInEveryRank) {
  std::mutex mutex;
  std::vector<std::vector<float>> sums;
  in_threads(all_of(3), 20, [&](Communicator& ranks) {
    std::vector<float> values(4097);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 1.0F / static_cast<float>(1 + (i * 31 + static_cast<std::size_t>(ranks.rank()) * 17) % 101);
    }
    ranks.all_reduce(values);
    const std::lock_guard<std::mutex> lock(mutex);
    sums.push_back(values);
  });
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

TEST(Ranks, ARankThatNeverComesIsNamedByTheOthers) {
  auto launches = all_of(3);
  launches.erase(launches.begin() + 1);
  for (const auto& error : in_threads(launches, 1.5, [](Communicator&) {})) {
    EXPECT_NE(error.find("rank 1 has not come to 127.0.0.1:"), std::string::npos) << error;
    EXPECT_NE(error.find("within 2 s"), std::string::npos) << error;
  }
}

TEST(Ranks, TwoRanksOfOneNumberAreRefusedOnEveryRank) {
  auto launches = all_of(3);
  launches[2].rank = 1;
  for (const auto& error : in_threads(launches, 20, [](Communicator&) {})) {
    EXPECT_NE(error.find("two processes say that they are rank 1 of 3"), std::string::npos) << error;
  }
}

TEST(Ranks, RanksThatCountDifferentlyAreRefusedOnEveryRank) {
  auto launches = all_of(3);
  launches[2].size = 4;
  for (const auto& error : in_threads(launches, 20, [](Communicator&) {})) {
    EXPECT_NE(error.find("the ranks count differently: rank "), std::string::npos) << error;
  }
}

TEST(Ranks, APortThatAnotherProgramHasIsSaidByAll) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken, 10), 0);  // and never answers
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  const auto begun = std::chrono::steady_clock::now();
  const auto errors = in_threads({launch_of(0, 2, port), launch_of(1, 2, port)}, 2, [](Communicator&) {});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
  // It stays open: a thread of c10d still waits for its answer.
  EXPECT_NE(errors[0].find("rank 0 cannot open 127.0.0.1:"), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("another program"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("rank 1 gets no answer at 127.0.0.1:"), std::string::npos) << errors[1];
  EXPECT_NE(errors[1].find("within 2 s"), std::string::npos) << errors[1];
}

TEST(Ranks, WithoutRankZeroNobodyWaitsLongerThanTheTimeout) {
  const auto errors = in_threads({launch_of(1, 2, free_port())}, 1.5, [](Communicator&) {});
  EXPECT_NE(errors[0].find("rank 1 has not reached 127.0.0.1:"), std::string::npos) << errors[0];
}

TEST(Ranks, ARankThatLeavesSaysWhyAndOneThatDoesNotComeIsNamed) {
  const auto errors = in_threads(all_of(3), 2, [](Communicator& ranks) {
    ranks.note_place("epoch 1, step " + std::to_string(ranks.rank()));
    if (ranks.rank() == 2) return ranks.leave("its disk is full");
    ranks.barrier();
  });
  EXPECT_EQ(errors[2], "");
  for (const int r : {0, 1}) {
    const std::string& error = errors[static_cast<std::size_t>(r)];
    EXPECT_NE(error.find("rank 2 failed: its disk is full"), std::string::npos) << error;
    EXPECT_NE(error.find("at epoch 1, step " + std::to_string(r)), std::string::npos) << error;
  }
}

TEST(Ranks, ALateRankIsNamedWithItsPlace) {
  const auto errors = in_threads(all_of(2), 1, [](Communicator& ranks) {
    ranks.note_place("step " + std::to_string(ranks.rank()));
    if (ranks.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(5));
      return ranks.leave("too late");
    }
    ranks.barrier();
  });
  EXPECT_NE(errors[0].find("rank 1 lives but has not come (last seen: rank 1 at step 1)"), std::string::npos)
      << errors[0];
}

}  // namespace
}  // namespace bdc::host

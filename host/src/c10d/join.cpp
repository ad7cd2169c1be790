// With device_group.cpp all that includes c10d. Its classes are held as what they are: from LibTorch 1.13 to 2.x groups
// of processes got another base class, and neither is named here.

#include "c10d/join.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <torch/types.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "bdc/base/error.h"
#include "bdc/base/now_seconds.h"
#include "bdc/base/short_message.h"
#include "bdc/base/text.h"
#include "c10d/device_group.h"
#include "ranks/pulse.h"

namespace bdc::host {
namespace {

using std::chrono::milliseconds;
using Say = std::function<void(const std::string&)>;

constexpr double kTellEvery = 5;
constexpr int kTag = 1;  ///< of bytes between two ranks

milliseconds in_ms(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

UserError apart(const std::string& what) {
  return {ExitCode::ranks_apart, what};
}

class Store : public MeetingPlace {
 public:
  Store(c10::intrusive_ptr<c10d::TCPStore> tcp, const std::string& prefix)
      : inner_(c10::make_intrusive<c10d::PrefixStore>(prefix, std::move(tcp))) {}

  void set(const std::string& key, const std::string& value) override {
    inner_->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
  }
  std::string get(const std::string& key) override {
    if (!inner_->check({key})) return {};
    const std::vector<std::uint8_t> bytes = inner_->get(key);
    return {bytes.begin(), bytes.end()};
  }
  std::int64_t count(const std::string& key) override { return inner_->add(key, 1); }
  [[nodiscard]] const c10::intrusive_ptr<c10d::PrefixStore>& inner() const { return inner_; }

 private:
  c10::intrusive_ptr<c10d::PrefixStore> inner_;
};

std::string place_of(const Launch& launch) {
  return launch.host + ":" + std::to_string(launch.port);
}

/// LibTorch 2 would like a store on libuv, which Debian builds it without. 1.13 knows of none.
template <class Options>
auto without_libuv(Options& options, int) -> decltype(void(options.useLibUV)) {
  options.useLibUV = false;
}
template <class Options>
void without_libuv(Options&, long) {}

c10::intrusive_ptr<c10d::TCPStore> connect_once(const Launch& launch, bool is_server, double timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(launch.port);
  options.isServer = is_server;
  options.waitWorkers = false;
  options.timeout = in_ms(timeout);
  without_libuv(options, 0);
  return c10::make_intrusive<c10d::TCPStore>(launch.host, options);
}

/// Whether something listens there.
bool can_reach(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
  bool out = false;
  for (const addrinfo* a = found; a != nullptr && !out; a = a->ai_next) {
    const int fd = ::socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) continue;
    if (::connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
      out = true;
    } else if (errno == EINPROGRESS) {
      pollfd wait{fd, POLLOUT, 0};
      int error = 1;
      socklen_t size = sizeof(error);
      out = ::poll(&wait, 1, 1000) == 1 && ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    }
    ::close(fd);
  }
  ::freeaddrinfo(found);
  return out;
}

std::string whole(double seconds) {
  return std::to_string(static_cast<int>(seconds + 0.5));
}

std::shared_ptr<Store> open_store(const Launch& launch, double timeout, const Say& say) {
  const std::string prefix = "bdc/" + launch.attempt;
  const std::string place = place_of(launch);
  if (launch.rank == 0 && !launch.has_store) {
    try {
      return std::make_shared<Store>(connect_once(launch, true, timeout), prefix);
    } catch (const std::exception& e) {
      throw apart("rank 0 cannot open " + place + ", where the ranks meet: " + short_message(e) +
                  "\n  advice: another program, or another rank 0, has the port; choose another (MASTER_PORT)");
    }
  }
  const std::string own = "rank " + std::to_string(launch.rank);
  const double begun = now_seconds();
  double told = begun;
  while (!can_reach(launch.host, launch.port)) {
    const double now = now_seconds();
    if (now - begun >= timeout) {
      throw apart(own + " has not reached " + place + ", where the ranks meet, within " + whole(timeout) +
                  " s\n  advice: does rank 0 run there, and does a firewall let the port through?");
    }
    if (say && now - told >= kTellEvery) {
      say(own + " waits for rank 0 at " + place);
      told = now;
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  try {
    return std::make_shared<Store>(connect_once(launch, false, timeout), prefix);
  } catch (const std::exception& e) {
    throw apart(own + " cannot use " + place + ", where the ranks meet: " + short_message(e));
  }
}

/// Shows that this rank is there and waits for all others, until `end`.
void meet(Store& store, const Launch& launch, double timeout, double end, const Say& say) {
  const auto give_up = [&](const std::string& why) {
    // Rank 0 takes the store away with it; the others look every tenth of a second.
    if (launch.rank == 0) std::this_thread::sleep_for(milliseconds(1000));
    throw apart(why);
  };
  const auto refuse = [&](const std::string& why) {
    store.set("refused", why);
    give_up(why);
  };
  const std::string own = "rank " + std::to_string(launch.rank);
  if (store.count("join/" + std::to_string(launch.rank)) > 1) {
    refuse("two processes say that they are " + own + " of " + std::to_string(launch.size) + "; this is " +
           place_of(launch));
  }
  store.set("size/" + std::to_string(launch.rank), std::to_string(launch.size));
  double told = now_seconds();
  for (int delay = 1;; delay = std::min(delay * 2, 100)) {
    if (const std::string why = store.get("refused"); !why.empty()) give_up(why);
    std::vector<std::string> missing;
    for (int r = 0; r < launch.size; ++r) {
      const std::string size = store.get("size/" + std::to_string(r));
      if (size.empty()) missing.push_back(std::to_string(r));
      if (!size.empty() && size != std::to_string(launch.size)) {
        refuse("the ranks count differently: rank " + std::to_string(r) + " counts " + size + ", " + own + " counts " +
               std::to_string(launch.size));
      }
    }
    if (missing.empty()) return;
    const std::string who = (missing.size() == 1 ? "rank " : "ranks ") + join(missing);
    const double now = now_seconds();
    if (now >= end) {
      give_up(who + (missing.size() == 1 ? " has" : " have") + " not come to " + place_of(launch) + " within " +
              whole(timeout) + " s; " + own + " gives up");
    }
    if (say && now - told >= kTellEvery) {
      say(own + " waits for " + who);
      told = now;
    }
    std::this_thread::sleep_for(milliseconds(delay));
  }
}

/// What `work` returns, or nothing when it takes longer: then its thread is left behind. Some waits of c10d and Gloo
/// know no end, or only one of their own.
template <class Result>
std::optional<Result> within(double seconds, std::function<Result()> work) {
  std::packaged_task<Result()> task(std::move(work));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready) {
    thread.join();
    return result.get();
  }
  thread.detach();
  return {};
}

/// Opens the store, and returns when all ranks have met there.
std::shared_ptr<Store> meet_within(const Launch& launch, double timeout, const Say& say) {
  constexpr double kGrace = 2;  // rank 0 gives up a second later
  const double end = now_seconds() + timeout;
  auto met = within<std::shared_ptr<Store>>(timeout + kGrace, [launch, timeout, end, say] {
    auto store = open_store(launch, timeout, say);
    try {
      meet(*store, launch, timeout, end, say);
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& e) {
      throw apart("rank " + std::to_string(launch.rank) + " has lost " + place_of(launch) +
                  ", where the ranks meet: " + short_message(e));
    }
    return store;
  });
  if (met) return *met;
  throw apart("rank " + std::to_string(launch.rank) + " gets no answer at " + place_of(launch) +
              ", where the ranks meet, within " + whole(timeout) +
              " s\n  advice: another program may have that port; choose another (MASTER_PORT)");
}

/// The address of this machine on the way to another one; "" where there is none, or only the machine itself.
std::string address_towards(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return "";
  std::string out;
  for (const addrinfo* a = found; a != nullptr && out.empty(); a = a->ai_next) {
    const int fd = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    char text[NI_MAXHOST];
    // Connecting a datagram socket sends nothing; it only finds the way.
    if (::connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      out = text;
    }
    ::close(fd);
  }
  ::freeaddrinfo(found);
  return out.rfind("127.", 0) == 0 || out == "::1" ? "" : out;
}

/// The first address of this machine that others may know it by; "" where there is none.
std::string first_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string out;
  for (const ifaddrs* a = all; a != nullptr && out.empty(); a = a->ifa_next) {
    const bool fits = a->ifa_addr != nullptr && a->ifa_addr->sa_family == AF_INET && (a->ifa_flags & IFF_UP) != 0 &&
                      (a->ifa_flags & IFF_LOOPBACK) == 0;
    char text[NI_MAXHOST];
    if (fits && ::getnameinfo(a->ifa_addr, sizeof(sockaddr_in), text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      out = text;
    }
  }
  ::freeifaddrs(all);
  return out;
}

std::shared_ptr<gloo::transport::Device> network_device(const Launch& launch) {
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  }
  const bool is_here = launch.host == "127.0.0.1" || launch.host == "localhost";
  if (is_here || launch.local_size == launch.size) return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  // Rank 0 may know the meeting place, which is itself, by a name that means nothing to others.
  const std::string towards = address_towards(launch.host), own = towards.empty() ? first_address() : towards;
  return own.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                     : c10d::ProcessGroupGloo::createDeviceForHostname(own);
}

/// For calls that all ranks make in the same order, and for sums that are begun in between.
using Groups = std::pair<c10::intrusive_ptr<c10d::ProcessGroupGloo>, c10::intrusive_ptr<c10d::ProcessGroupGloo>>;

Groups open_groups(const Launch& launch, double timeout, const Store& store) {
  const auto options = c10d::ProcessGroupGloo::Options::create();
  options->timeout = in_ms(timeout);
  options->threads = 2;
  options->devices.push_back(network_device(launch));
  const auto group_at = [&](const c10::intrusive_ptr<c10d::Store>& place) {
    return c10::make_intrusive<c10d::ProcessGroupGloo>(place, launch.rank, launch.size, options);
  };
  return {group_at(store.inner()), group_at(c10::make_intrusive<c10d::PrefixStore>("buckets", store.inner()))};
}

/// What goes wrong in a call becomes a verdict on who is to blame.
class Guard {
 public:
  Guard(const std::unique_ptr<Pulse>& pulse, bool& is_whole) : pulse_(pulse), is_whole_(is_whole) {}
  /// A call that returns when all ranks have come to it.
  template <class Call>
  void operator()(const Call& call) const {
    at_once([&] {
      pulse_->begin_call();
      call();
      pulse_->end_call();
    });
  }
  /// A call that does not wait.
  template <class Call>
  void at_once(const Call& call) const {
    try {
      call();
    } catch (const std::exception& e) {
      is_whole_ = false;
      throw apart(pulse_->verdict() + "\n  (" + short_message(e) + ")");
    }
  }

 private:
  const std::unique_ptr<Pulse>& pulse_;
  bool& is_whole_;
};

class PendingWork : public PendingSum {
 public:
  PendingWork(c10::intrusive_ptr<c10d::Work> work, Guard guard) : work_(std::move(work)), guard_(guard) {
    work_->getFuture()->addCallback([done = done_](c10::ivalue::Future& /*sums*/) { *done = now_seconds(); });
  }
  void wait() override {
    guard_([&] { work_->wait(); });
    if (*done_ == 0) *done_ = now_seconds();
  }
  [[nodiscard]] double done_at() const override { return *done_; }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  Guard guard_;
  std::shared_ptr<std::atomic<double>> done_ = std::make_shared<std::atomic<double>>(0);
};

/// A sum of a device group under guard.
class GuardedSum : public PendingSum {
 public:
  GuardedSum(std::unique_ptr<PendingSum> sum, Guard guard) : sum_(std::move(sum)), guard_(guard) {}
  void wait() override {
    guard_([&] { sum_->wait(); });
  }
  [[nodiscard]] double done_at() const override { return sum_->done_at(); }

 private:
  std::unique_ptr<PendingSum> sum_;
  Guard guard_;
};

class GlooRanks : public Communicator {
 public:
  GlooRanks(const Launch& launch, double timeout, Say say) : launch_(launch), timeout_(timeout) {
    store_ = meet_within(launch, timeout, say);
    pulse_ = std::make_unique<Pulse>(
        launch.rank, launch.size,
        [launch, timeout]() -> std::unique_ptr<MeetingPlace> {
          return std::make_unique<Store>(connect_once(launch, false, timeout), "bdc/" + launch.attempt);
        },
        std::move(say));
    guarded_([&] {
      const auto groups =
          within<Groups>(timeout, [launch, timeout, store = store_] { return open_groups(launch, timeout, *store); });
      if (!groups) throw std::runtime_error("no connection among the ranks within " + whole(timeout) + " s");
      std::tie(group_, buckets_) = *groups;
    });
  }
  ~GlooRanks() override {
    try {
      if (is_whole_) barrier();  // rank 0 keeps the store until nobody needs it
    } catch (const std::exception&) {
    }
    pulse_.reset();
    if (is_whole_) return;
    // What waits for ranks that are gone would wait here, too. The process is about to end.
    (void)devices_.release();
    (void)buckets_.release();
    (void)group_.release();
    new std::shared_ptr<Store>(std::move(store_));
  }
  GlooRanks(const GlooRanks&) = delete;
  GlooRanks& operator=(const GlooRanks&) = delete;

  [[nodiscard]] int rank() const override { return launch_.rank; }
  [[nodiscard]] int size() const override { return launch_.size; }

  void all_reduce(Span<float> bucket) override { sum(bucket.data(), bucket.size(), torch::kFloat32); }
  void all_reduce_doubles(Span<double> bucket) override { sum(bucket.data(), bucket.size(), torch::kFloat64); }

  void use_device(int device) override {
    char host[HOST_NAME_MAX + 1] = {};
    (void)::gethostname(host, sizeof(host) - 1);
    const auto all = gather(device < 0 || !has_device_groups() ? "" : host + (" " + std::to_string(device)));
    const std::set<std::string> devices(all.begin(), all.end());
    if (devices.size() < all.size() || devices.count("") != 0) return;  // some rank has none, or two have one
    guarded_([&] {
      devices_ = open_device_group(c10::make_intrusive<c10d::PrefixStore>("devices", store_->inner()), launch_,
                                   timeout_, device);
      device_ = device;
    });
  }
  [[nodiscard]] bool takes_device_memory() const override { return devices_ != nullptr; }

  std::unique_ptr<PendingSum> begin_sum(Bucket bucket) override {
    const auto keep = [owner = bucket.owner](void* /*numbers*/) {};
    auto options = torch::TensorOptions(torch::kFloat32);
    if (bucket.is_on_device) options = options.device(torch::kCUDA, static_cast<torch::DeviceIndex>(device_));
    std::vector<torch::Tensor> tensors{
        torch::from_blob(bucket.numbers, {static_cast<std::int64_t>(bucket.count)}, keep, options)};
    std::unique_ptr<PendingSum> out;
    if (bucket.is_on_device) {
      guarded_.at_once([&] { out = std::make_unique<GuardedSum>(devices_->begin_sum(tensors[0]), guarded_); });
      return out;
    }
    guarded_.at_once([&] { out = std::make_unique<PendingWork>(buckets_->allreduce(tensors), guarded_); });
    return out;
  }

  void broadcast(void* bytes, std::size_t count, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    for (std::size_t at = 0; at < count; at += kPiece) {
      const auto part = static_cast<std::int64_t>(std::min(kPiece, count - at));
      std::vector<torch::Tensor> tensors{torch::from_blob(static_cast<char*>(bytes) + at, {part}, torch::kUInt8)};
      guarded_([&] { group_->broadcast(tensors, options)->wait(); });
    }
  }

  std::vector<std::string> gather(const std::string& bytes) override {
    std::vector<double> sizes(static_cast<std::size_t>(size()));
    sizes[static_cast<std::size_t>(rank())] = static_cast<double>(bytes.size());
    all_reduce_doubles(sizes);
    const auto longest = static_cast<std::int64_t>(*std::max_element(sizes.begin(), sizes.end()));
    if (longest == 0) return std::vector<std::string>(sizes.size());
    torch::Tensor own = torch::zeros({longest}, torch::kUInt8);
    std::memcpy(own.data_ptr(), bytes.data(), bytes.size());
    std::vector<torch::Tensor> inputs{own};
    std::vector<std::vector<torch::Tensor>> outputs(1);
    for (int r = 0; r < size(); ++r) outputs[0].push_back(torch::empty({longest}, torch::kUInt8));
    guarded_([&] { group_->allgather(outputs, inputs)->wait(); });
    std::vector<std::string> out;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      out.emplace_back(static_cast<const char*>(outputs[0][r].data_ptr()), static_cast<std::size_t>(sizes[r]));
    }
    return out;
  }

  void send_to_first(const std::string& bytes, const std::function<void(std::string)>& take) override {
    std::vector<double> sizes(static_cast<std::size_t>(size()));
    sizes[static_cast<std::size_t>(rank())] = static_cast<double>(bytes.size());
    all_reduce_doubles(sizes);
    if (!is_first()) return send(bytes, 0);
    for (int r = 1; r < size(); ++r) take(receive(static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]), r));
  }

  void barrier() override {
    std::vector<double> nothing(1);
    all_reduce_doubles(nothing);
  }

  void note_place(const std::string& place) override { pulse_->set_place(place); }
  void leave(const std::string& why) noexcept override {
    const bool is_first_error = is_whole_;
    is_whole_ = false;
    try {
      if (is_first_error) pulse_->leave(why);
    } catch (const std::exception&) {  // the others will notice
    }
  }

 private:
  void sum(void* data, std::size_t count, torch::Dtype type) {
    if (count == 0) return;
    std::vector<torch::Tensor> tensors{torch::from_blob(data, {static_cast<std::int64_t>(count)}, type)};
    guarded_([&] { group_->allreduce(tensors)->wait(); });
  }

  // In pieces: c10d's transports count bytes in 32 bits here and there.
  static constexpr std::size_t kPiece = std::size_t{64} << 20;

  void send(const std::string& bytes, int to) {
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      const auto count = static_cast<std::int64_t>(std::min(kPiece, bytes.size() - at));
      std::vector<torch::Tensor> tensors{
          torch::from_blob(const_cast<char*>(bytes.data()) + at, {count}, torch::kUInt8)};
      guarded_([&] { group_->send(tensors, to, kTag)->wait(); });
    }
  }

  std::string receive(std::size_t count, int from) {
    std::string out(count, '\0');
    for (std::size_t at = 0; at < count; at += kPiece) {
      const auto part = static_cast<std::int64_t>(std::min(kPiece, count - at));
      std::vector<torch::Tensor> tensors{torch::from_blob(out.data() + at, {part}, torch::kUInt8)};
      guarded_([&] { group_->recv(tensors, from, kTag)->wait(); });
    }
    return out;
  }

  Launch launch_;
  double timeout_;
  int device_ = -1;
  std::unique_ptr<DeviceGroup> devices_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Pulse> pulse_;
  bool is_whole_ = true;
  Guard guarded_{pulse_, is_whole_};
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_, buckets_;
};

}  // namespace

std::unique_ptr<Communicator> join_ranks(const Launch& launch, double timeout,
                                         std::function<void(const std::string&)> say) {
  if (launch.is_alone()) return std::make_unique<Communicator>();
  return std::make_unique<GlooRanks>(launch, timeout, std::move(say));
}

}  // namespace bdc::host

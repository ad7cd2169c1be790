#include "ranks/communicator.h"

#include <utility>

#include "bdc/base/now_seconds.h"

namespace bdc::host {
namespace {

class SumInWait : public PendingSum {
 public:
  SumInWait(Communicator& ranks, Bucket bucket) : ranks_(ranks), bucket_(std::move(bucket)) {}
  void wait() override {
    ranks_.all_reduce({bucket_.numbers, bucket_.count});
    done_at_ = now_seconds();
  }
  [[nodiscard]] double done_at() const override { return done_at_; }

 private:
  Communicator& ranks_;
  Bucket bucket_;
  double done_at_ = 0;
};

}  // namespace

std::unique_ptr<PendingSum> Communicator::begin_sum(Bucket bucket) {
  return std::make_unique<SumInWait>(*this, std::move(bucket));
}

}  // namespace bdc::host

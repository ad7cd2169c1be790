#include <gtest/gtest.h>

#include "plugins/fingerprint.h"

namespace bdc::host {
namespace {

Fingerprint with(void (*change)(Fingerprint&)) {
  Fingerprint f = Fingerprint::of_host();
  change(f);
  return f;
}

TEST(Fingerprint, TheHostFitsItself) {
  EXPECT_EQ(mismatch(Fingerprint::of_host(), Fingerprint::of_host()), "");
}

TEST(Fingerprint, AnOlderMinorIsAcceptedANewerOneRefused) {
  const auto newer_host = with([](Fingerprint& f) { f.api_minor += 3; });
  EXPECT_EQ(mismatch(newer_host, Fingerprint::of_host()), "");
  EXPECT_NE(mismatch(Fingerprint::of_host(), newer_host), "");
}

TEST(Fingerprint, AnotherCompilerOfTheSameStandardLibraryIsAccepted) {
  EXPECT_EQ(mismatch(Fingerprint::of_host(), with([](Fingerprint& f) { f.compiler = "clang-19"; })), "");
}

TEST(Fingerprint, EverythingElseMustBeEqualAndBothSidesAreShown) {
  for (const auto change : {+[](Fingerprint& f) { f.api_major = 9; }, +[](Fingerprint& f) { f.torch = "2.4.0"; },
                            +[](Fingerprint& f) { f.device = "cuda"; }, +[](Fingerprint& f) { f.cxx11_abi = "0"; },
                            +[](Fingerprint& f) { f.stdlib = "libc++"; }}) {
    const std::string text = mismatch(Fingerprint::of_host(), with(change));
    EXPECT_NE(text.find("advice:"), std::string::npos);
    EXPECT_NE(text.find("host:   " + Fingerprint::of_host().text()), std::string::npos);
    EXPECT_NE(text.find("plugin: " + with(change).text()), std::string::npos);
  }
}

TEST(Fingerprint, BrokenTextIsRefused) {
  for (const char* text : {"", "api=1", "api=x.y;torch=1", "api=1.0;torch=1.13;cxx11abi=1;stdlib=s;compiler=c",
                           "api=99999999999999.0;torch=1;cxx11abi=1;stdlib=s;compiler=c;device=cpu"}) {
    EXPECT_THROW((void)Fingerprint::parse(text), std::invalid_argument) << text;
  }
  EXPECT_EQ(Fingerprint::parse("api=1.2;torch=1.13.0;cxx11abi=1;stdlib=s;compiler=c;device=cpu;later=yes").api_minor,
            2);
}

}  // namespace
}  // namespace bdc::host

// ./run package: what is in the packages, what they ask for, and that the tools work as they lie in theirs.

#include <gtest/gtest.h>

#include <map>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::run;
using bdc::test::TemporaryFolder;

class Packages : public testing::Test {
 protected:
  void SetUp() override {
    const auto cpack = run({"cpack", "--config", BDC_BUILD_FOLDER "/CPackConfig.cmake", "-B", folder_.path().string()},
                           folder_.path());
    ASSERT_EQ(cpack.exit_code, 0) << cpack.out << cpack.err;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".deb") files_[name.substr(0, name.find('_'))] = entry.path();
    }
  }
  [[nodiscard]] std::string list(const std::string& package) {
    return run({"dpkg-deb", "-c", files_.at(package).string()}, folder_.path()).out;
  }
  [[nodiscard]] std::string depends(const std::string& package) {
    return run({"dpkg-deb", "-f", files_.at(package).string(), "Depends"}, folder_.path()).out;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  TemporaryFolder folder_;
  std::map<std::string, fs::path> files_;
};

TEST_F(Packages, ToolsEngineAndHeadersAreApart) {
  ASSERT_EQ(files_.size(), 3u);
  const std::string tools = list("bdc"), engine = list("bdc-engine"), headers = list("libbdc-dev");
  for (const char* file :
       {"./usr/bin/bdc-host\n", "./usr/share/bdc/registry.json\n", "./usr/share/bdc/configs/",
        "./usr/share/man/man1/bdc-host.1.gz\n", "./usr/share/bash-completion/completions/bdc-host\n"}) {
    EXPECT_TRUE(has(tools, file)) << file << tools;
  }
  EXPECT_FALSE(has(tools, ".so")) << tools;
  for (const char* file : {"./usr/lib/bdc/bdc-engine.so\n", "./usr/lib/bdc/plugins/yolov7.so\n",
                           "./usr/lib/bdc/plugins/frcnn.so\n", "./usr/lib/bdc/plugins/eva.so\n"}) {
    EXPECT_TRUE(has(engine, file)) << file << engine;
  }
  for (const char* file :
       {"./usr/include/bdc/plugin/detector.h\n", "/cmake/bdc/bdcConfig.cmake\n", "/libbdc_base.a\n"}) {
    EXPECT_TRUE(has(headers, file)) << file << headers;
  }
  for (const std::string& all : {tools, engine, headers}) EXPECT_FALSE(has(all, "./usr/local")) << all;
}

TEST_F(Packages, TheToolsAskForNoLibTorchAndTheEngineAsksForIt) {
  EXPECT_FALSE(has(depends("bdc"), "torch") || has(depends("bdc"), "opencv")) << depends("bdc");
  EXPECT_TRUE(has(depends("bdc"), "libc6")) << depends("bdc");
  for (const char* name : {"bdc (=", "libtorch", "python3-torchvision", "libopencv"}) {
    EXPECT_TRUE(has(depends("bdc-engine"), name)) << name << ": " << depends("bdc-engine");
  }
}

TEST_F(Packages, TheToolsWorkAndSayThatTheEngineIsMissing) {
  const fs::path root = folder_.path() / "root";
  ASSERT_EQ(run({"dpkg-deb", "-x", files_.at("bdc").string(), root.string()}, folder_.path()).exit_code, 0);
  const std::string host = (root / "usr/bin/bdc-host").string();
  EXPECT_EQ(run({host, "version"}, folder_.path()).exit_code, 0);
  const auto train = run({host, "--plugin", "yolov7"}, folder_.path());
  EXPECT_NE(train.exit_code, 0);
  ASSERT_EQ(run({"dpkg-deb", "-x", files_.at("bdc-engine").string(), root.string()}, folder_.path()).exit_code, 0);
  const auto plan =
      run({host, "--plugin", "yolov7", "--dry-run", "--set", "plugin.options.variant=tiny"}, folder_.path());
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
}

}  // namespace

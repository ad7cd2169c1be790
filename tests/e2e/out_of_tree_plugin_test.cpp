// A stranger's way: install bdc, build the example against the installed package, drop the .so into a folder, train it.

#include <gtest/gtest.h>

#include <regex>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::run;
using bdc::test::TemporaryFolder;

TEST(OutOfTree, ThePluginBuildsAgainstTheInstalledPackageAndTrainsWithoutTouchingTheRegistry) {
  const TemporaryFolder folder;
  const fs::path prefix = folder.path() / "prefix", source = folder.path() / "minimal_plugin",
                 work = folder.path() / "work";
  const auto install = run({"cmake", "--install", BDC_BUILD_FOLDER, "--prefix", prefix.string()}, folder.path());
  ASSERT_EQ(install.exit_code, 0) << install.err;
  fs::copy(BDC_SOURCE_FOLDER "/examples/minimal_plugin", source, fs::copy_options::recursive);
  const auto configure = run({"cmake", "-S", source.string(), "-B", (source / "build").string(), "-G", "Ninja",
                              "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_PREFIX_PATH=" + prefix.string()},
                             folder.path());
  ASSERT_EQ(configure.exit_code, 0) << configure.out << configure.err;
  const auto build = run({"cmake", "--build", (source / "build").string()}, folder.path());
  ASSERT_EQ(build.exit_code, 0) << build.out << build.err;

  // Only the descriptor is exported.
  const auto symbols = run({"nm", "-D", "--defined-only", (source / "build/minimal.so").string()}, folder.path());
  EXPECT_NE(symbols.out.find("bdc_plugin_descriptor"), std::string::npos) << symbols.out;
  EXPECT_EQ(std::count(symbols.out.begin(), symbols.out.end(), '\n'), 1) << symbols.out;

  fs::create_directories(work / "plugins");
  const std::string registry = R"({"schema_version": 1, "plugins": [], "hooks": []})";
  std::ofstream(work / "registry.json") << registry;
  fs::copy(source / "build/minimal.so", work / "plugins/minimal.so");
  const std::string host = (prefix / "bin/bdc-host").string();
  const auto train = run({host, "--plugin", "minimal", "--json", "--set", "train.epochs=8", "--set",
                          "data.shapes.train_images=300", "--set", "data.shapes.classes=2"},
                         work);
  ASSERT_EQ(train.exit_code, 0) << train.err;
  const auto report = nlohmann::json::parse(train.out);
  EXPECT_GE(report["test"]["AP50"].get<double>(), 0.5);
  EXPECT_EQ(bdc::test::read_file(work / "registry.json"), registry);

  const auto doctor = run({host, "plugins", "doctor", "minimal"}, work);
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
}

TEST(OutOfTree, AnInstalledHostFindsPluginsInItsOwnFolder) {
  const TemporaryFolder folder;
  const fs::path prefix = folder.path() / "prefix";
  ASSERT_EQ(run({"cmake", "--install", BDC_BUILD_FOLDER, "--prefix", prefix.string()}, folder.path()).exit_code, 0);
  fs::create_directories(prefix / "lib/bdc/plugins");
  fs::copy(BDC_BUILD_FOLDER "/plugins/minimal.so", prefix / "lib/bdc/plugins/minimal.so");
  const auto list = run({(prefix / "bin/bdc-host").string(), "plugins", "list"}, folder.path());
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(std::regex_search(list.out, std::regex("minimal +detector +ok"))) << list.out;
}

}  // namespace
